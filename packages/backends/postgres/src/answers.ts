/** What the functions answer, as JSON, and the errors that are in it. */
import { RheoError } from "@rheo/core";
import { groupNotFound, streamNotFound } from "@rheo/core/internal";

/** Every answer may say that the stream or group is not there. */
export interface Answer {
  readonly missing?: "stream" | "group";
  /** Id of the stream, where something changed that its members may want to hear of. */
  readonly stream?: number;
}

/** @throws stream_not_found, group_not_found */
export const checkFound = (answer: Answer, stream: string, group: string): void => {
  if (answer.missing === "stream") throw streamNotFound(stream);
  if (answer.missing === "group") throw groupNotFound(stream, group);
};

export const cursorNotFound = (stream: string, id: string): RheoError =>
  new RheoError(
    "cursor_not_found",
    `There is no event "${id}" in stream "${stream}" to go on after. Start again without "after".`,
    { stream, id },
  );

export const nothingToReplay = (stream: string, group: string, after: number): RheoError =>
  new RheoError(
    "nothing_to_replay",
    `No partition of "${stream}" has a sequence ${after}: there is nothing after it to replay for "${group}".`,
    { stream, group },
  );
