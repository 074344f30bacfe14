import { CommandFailure } from "../failure.ts";

/** An id that the stream does not hold, or no longer. */
export const noSuchEvent = (stream: string, id: string): CommandFailure =>
  new CommandFailure(
    "event_not_found",
    `Stream "${stream}" has no event ${JSON.stringify(id)}: it was never there, or was trimmed.`,
    {
      stream,
      id,
    },
  );
