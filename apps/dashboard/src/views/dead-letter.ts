/** One dead letter: why it died, what was in it, and where the other groups stand with its event. */
import { ProblemError } from "../http/problem.ts";
import { contentOf, type EventContent, type EventView, groupsOf } from "./event.ts";
import { findDeadLetter } from "./find-dead-letter.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";

export interface DeadLetterView {
  readonly stream: string;
  readonly group: string;
  readonly eventId: string;
  readonly partition: number;
  readonly sequence: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly reason: string;
  readonly stack: string | null;
  readonly consumerId: string;
  readonly firstFailedAtMs: number;
  readonly deadAtMs: number;
  /** Null when the event was trimmed. */
  readonly event: EventContent | null;
  readonly groups: EventView["groups"];
}

export const deadLetter: View = {
  everyMs: 2_000,
  isHeavy: false,
  prepare: (params: Params, { rheo }: Sources) => {
    const stream = params.required("stream");
    const group = params.required("group");
    const id = params.required("id");
    const after = params.text("after");
    return async (): Promise<DeadLetterView> => {
      const { options } = await rheo.groupInfo(stream, group);
      const letter = await findDeadLetter(rheo, stream, group, id, after);
      if (letter === null)
        throw new ProblemError(
          "not_found",
          `Group "${group}" of stream "${stream}" has no dead letter of event "${id}". It may have been redriven or purged.`,
        );
      const history = letter.event === null ? null : await rheo.eventHistory(stream, id);
      return {
        stream,
        group,
        eventId: id,
        partition: letter.partition,
        sequence: letter.sequence,
        attempts: letter.attempts,
        maxAttempts: options.maxAttempts,
        reason: letter.reason,
        stack: letter.stack ?? null,
        consumerId: letter.consumerId,
        firstFailedAtMs: letter.firstFailedAt.getTime(),
        deadAtMs: letter.deadAt.getTime(),
        event: letter.event === null ? null : contentOf(letter.event),
        groups: history === null ? [] : groupsOf(history).groups,
      };
    };
  },
};
