import { type DeadLetterInfo, type Event, type Rheo, RheoError } from "@rheo/core";

/**
 * The dead letter of an event: it comes right after the letter before it, whose id the reader may know, or after the event before it in
 * the log. Null when it is not dead, or was trimmed and nothing before it is known.
 */
export const findDeadLetter = async (
  rheo: Rheo,
  stream: string,
  group: string,
  eventId: string,
  known: string | null,
): Promise<DeadLetterInfo | null> => {
  const hinted = await letterAfter(rheo, stream, group, known);
  if (hinted?.eventId === eventId) return hinted;
  const event = await rheo.getEvent(stream, eventId);
  if (event === null) return null;
  const found = await letterAfter(rheo, stream, group, await idBefore(rheo, event));
  return found?.eventId === eventId ? found : null;
};

/** The first letter after an event, or the first of all. */
const letterAfter = async (rheo: Rheo, stream: string, group: string, after: string | null): Promise<DeadLetterInfo | null> => {
  try {
    const [letter] = await rheo.deadLetters(stream, group, { limit: 1, ...(after === null ? {} : { after }) });
    return letter ?? null;
  } catch (error) {
    if (RheoError.is(error, "cursor_not_found")) return null;
    throw error;
  }
};

/** The id of the last event before one, in its partition or an earlier one; null when there is none. */
const idBefore = async (rheo: Rheo, { stream, partition, sequence }: Event): Promise<string | null> => {
  const { partitions } = await rheo.streamInfo(stream);
  for (const part of partitions.slice(0, partition + 1).reverse()) {
    const untilSequence = part.partition === partition ? sequence - 1 : part.highWatermark;
    if (untilSequence < part.firstSequence) continue;
    const [found] = await rheo.query(stream, { partition: part.partition, untilSequence, order: "desc", limit: 1 });
    if (found !== undefined) return found.id;
  }
  return null;
};
