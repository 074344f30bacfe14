/** Faults in the log: appends, ids, conditions, trim. */
import type { AppendAnswer, AppendRequest, Backend, EventRecord, NewEvent } from "@rheo/core";
import { type Mutant, mutant } from "./mutant.ts";

/** A mutant of single append requests. */
const appendMutant = (
  name: string,
  fault: string,
  append: (inner: Backend, request: AppendRequest) => Promise<AppendAnswer>,
): Mutant =>
  mutant(name, fault, (inner) => ({
    append: async (requests) => {
      const answers: AppendAnswer[] = [];
      for (const request of requests) answers.push(await append(inner, request));
      return answers;
    },
  }));

const one = async (inner: Backend, request: AppendRequest): Promise<AppendAnswer> => {
  const [answer] = await inner.append([request]);
  return answer ?? { kind: "stream_not_found" };
};

const changed = (request: AppendRequest, change: (event: NewEvent, index: number) => NewEvent): AppendRequest => ({
  ...request,
  events: request.events.map(change),
});

/** Without the names that a careless merge loses. */
const withoutProto = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutProto);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "__proto__")
      .map(([name, item]) => [name, withoutProto(item)]),
  );
};

const merged = (record: EventRecord): EventRecord => {
  const { event: _shared, ...rest } = record;
  return { ...rest, payload: JSON.stringify(withoutProto(JSON.parse(record.payload))) };
};

export const logMutants: readonly Mutant[] = [
  appendMutant("duplicate-stored-twice", "an id that is stored already is stored again", async (inner, request) => {
    const known = await inner
      .readIds(
        request.stream,
        request.events.map(({ id }) => id),
      )
      .catch(() => []);
    return one(
      inner,
      changed(request, (event, index) =>
        known[index] == null ? event : { ...event, id: `${event.id}-again-${Math.abs(index)}-${known[index]?.sequence ?? 0}` },
      ),
    );
  }),
  appendMutant(
    "duplicate-forgotten-when-conditional",
    "a repeated append under a condition is judged by the condition",
    async (inner, request) => {
      const marks = await inner.watermarks(request.stream).catch(() => []);
      const index = request.events.findIndex(
        ({ expectedSequence, partition }) => expectedSequence !== null && marks[partition]?.highWatermark !== expectedSequence,
      );
      if (index === -1 || request.events.length > 1) return one(inner, request);
      return {
        kind: "sequence_conflict",
        index,
        highWatermark: marks[request.events[index]?.partition ?? 0]?.highWatermark ?? 0,
      };
    },
  ),
  appendMutant(
    "id-conflict-accepted",
    "an id that is stored with other content is taken for the same event",
    async (inner, request) => {
      const answer = await one(inner, request);
      if (answer.kind !== "id_conflict") return answer;
      const { stored } = answer;
      return {
        kind: "appended",
        events: request.events.map(() => ({ sequence: stored.sequence, timestampMs: stored.timestampMs, duplicate: stored })),
      };
    },
  ),
  appendMutant(
    "batch-half-written",
    "of a batch that is refused the events before the offender are stored",
    async (inner, request) => {
      const answer = await one(inner, request);
      if (answer.kind !== "id_conflict" && answer.kind !== "sequence_conflict") return answer;
      await one(inner, { ...request, events: request.events.slice(0, answer.index) });
      return answer;
    },
  ),
  appendMutant("wrong-index", "the error of a batch names the wrong event", async (inner, request) => {
    const answer = await one(inner, request);
    return answer.kind === "id_conflict" || answer.kind === "sequence_conflict" ? { ...answer, index: 0 } : answer;
  }),
  appendMutant("condition-ignored", "expectedSequence is not looked at", (inner, request) =>
    one(
      inner,
      changed(request, (event) => ({ ...event, expectedSequence: null })),
    ),
  ),
  appendMutant(
    "failed-append-leaves-gap",
    "an append that is refused uses up a sequence, which stays empty",
    async (inner, request) => {
      const answer = await one(inner, request);
      if (answer.kind !== "sequence_conflict") return answer;
      const [event] = request.events;
      if (event !== undefined)
        await one(inner, {
          ...request,
          events: [{ ...event, id: `gap-${answer.highWatermark}-${event.id}`, expectedSequence: null }],
        });
      return answer;
    },
  ),
  appendMutant("batch-reversed", "a batch is stored in reverse", async (inner, request) => {
    const answer = await one(inner, { ...request, events: [...request.events].reverse() });
    return answer.kind === "appended" ? { ...answer, events: [...answer.events].reverse() } : answer;
  }),
  appendMutant("empty-key-dropped", "an empty key is stored as none", (inner, request) =>
    one(
      inner,
      changed(request, (event) => ({ ...event, key: event.key === "" ? null : event.key })),
    ),
  ),
  mutant("own-names-lost", "a payload loses its own field __proto__", (inner) => ({
    read: async (request) => (await inner.read(request)).map(merged),
    readIds: async (stream, ids) => (await inner.readIds(stream, ids)).map((record) => record && merged(record)),
    exchange: async (request) => {
      const answer = await inner.exchange(request);
      return { ...answer, grants: answer.grants.map((grant) => ({ ...grant, events: grant.events.map(merged) })) };
    },
  })),
  mutant("trim-passes-frontier", "a trim removes what slow groups have not settled", (inner) => ({
    trim: (request) => inner.trim({ ...request, force: true }),
  })),
  mutant("trim-ignores-partitions", "a trim of one partition trims all", (inner) => ({
    trim: (request) => inner.trim({ ...request, partitions: null }),
  })),
  mutant("trim-dry-run-removes", "a trim that was only to count removes", (inner) => ({
    trim: (request) => inner.trim({ ...request, dryRun: false }),
  })),
  mutant("trim-off-by-one", "a trim before a sequence removes that one too", (inner) => ({
    trim: (request) =>
      inner.trim(
        request.cut.kind === "sequence" ? { ...request, cut: { ...request.cut, before: request.cut.before + 1 } } : request,
      ),
  })),
  mutant("names-folded", "stream names that differ in case are one stream", (inner) => ({
    createStream: (name, partitions) => inner.createStream(name.toLowerCase(), partitions),
    getStream: (name) => inner.getStream(name.toLowerCase()),
  })),
];
