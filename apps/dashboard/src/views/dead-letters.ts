/** The dead letters of a group, page by page. */
import type { DeadLetterInfo } from "@rheo/core";
import { nextTurn } from "../turn.ts";
import { type EventLine, eventLine, shortText } from "./event-text.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";
import { eventMatcher, filterOf } from "./where.ts";

export interface DeadLetterRow {
  readonly eventId: string;
  readonly partition: number;
  readonly sequence: number;
  readonly attempts: number;
  readonly reason: string;
  readonly consumerId: string;
  readonly firstFailedAtMs: number;
  readonly deadAtMs: number;
  /** Null when the event was trimmed. */
  readonly event: EventLine | null;
  /** The letter before it, by which it is found again; null for the first. */
  readonly after: string | null;
}

export interface DeadLettersView {
  readonly stream: string;
  readonly group: string;
  /** In all, as of the last look at the group; null when it was not looked at yet. */
  readonly count: number | null;
  readonly letters: readonly DeadLetterRow[];
  /** To go on after; null at the end. */
  readonly next: string | null;
  /** How many were looked through for this page. */
  readonly examined: number;
}

const PAGE = 50;
/** Letters read at a time: with the largest events, tens of megabytes. */
const CHUNK = 50;
/** Letters that one page looks through for matches. */
const MOST_EXAMINED = 5_000;
/** And how long, in ms: what is found by then is shown, and can be gone on from. */
const MOST_MS = 400;
const REASON_CHARACTERS = 300;

export const deadLetters: View = {
  everyMs: 2_000,
  isHeavy: true,
  prepare: (params: Params, sources: Sources) => {
    const stream = params.required("stream");
    const group = params.required("group");
    const after = params.text("after");
    const filter = filterOf(params);
    const reason = params.text("reason")?.toLowerCase() ?? null;
    const matches = eventMatcher(filter);
    const passes = (letter: DeadLetterInfo): boolean =>
      (reason === null || letter.reason.toLowerCase().includes(reason)) &&
      (filter === null || (letter.event !== null && matches(letter.event)));
    return () => readPage(sources, stream, group, after, passes);
  },
};

const readPage = async (
  { rheo, clock, sampler }: Sources,
  stream: string,
  group: string,
  start: string | null,
  passes: (letter: DeadLetterInfo) => boolean,
): Promise<DeadLettersView> => {
  sampler.watch();
  const endMs = clock.monotonic() + MOST_MS;
  const letters: DeadLetterRow[] = [];
  let after = start;
  let examined = 0;
  let isEnd = false;
  while (!isEnd && letters.length < PAGE && examined < MOST_EXAMINED && clock.monotonic() < endMs) {
    await nextTurn();
    const chunk = await rheo.deadLetters(stream, group, { limit: CHUNK, ...(after === null ? {} : { after }) });
    isEnd = chunk.length < CHUNK;
    for (const letter of chunk) {
      if (letters.length === PAGE) {
        isEnd = false;
        break;
      }
      if (passes(letter)) letters.push(rowOf(letter, after));
      after = letter.eventId;
      examined += 1;
    }
  }
  const count = sampler.group(stream, group)?.info?.deadLetters ?? null;
  return { stream, group, count, letters, next: isEnd ? null : after, examined };
};

const rowOf = (letter: DeadLetterInfo, after: string | null): DeadLetterRow => ({
  eventId: letter.eventId,
  partition: letter.partition,
  sequence: letter.sequence,
  attempts: letter.attempts,
  reason: shortText(letter.reason, REASON_CHARACTERS),
  consumerId: letter.consumerId,
  firstFailedAtMs: letter.firstFailedAt.getTime(),
  deadAtMs: letter.deadAt.getTime(),
  event: letter.event === null ? null : eventLine(letter.event),
  after,
});
