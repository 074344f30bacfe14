import type { RheoEventMap, RheoEvents, RheoEventType } from "@rheo/core";

/** Where a narrator writes: what goes as planned, and what does not. */
export interface NarratorOutput {
  info(text: string): void;
  warn(text: string): void;
}

type Telling = { readonly [Type in RheoEventType]?: (event: RheoEventMap[Type]) => string };

const INFO: Telling = {
  "consumer.started": ({ stream, group }) => `${stream}/${group} is running`,
  "consumer.draining": ({ stream, group }) => `${stream}/${group} is draining`,
  "consumer.stopped": ({ stream, group }) => `${stream}/${group} has stopped`,
  "breaker.closed": ({ stream, group }) => `${stream}/${group}: an event was acked, and work goes on`,
};

const WARN: Telling = {
  "child.failed": ({ child, error }) => `${child} failed: ${error.message}`,
  "child.restarting": ({ child, restarts, inMs }) => `${child} is started again in ${inMs} ms (restart ${restarts})`,
  "supervisor.escalated": ({ child, restarts }) => `${child} failed too often and is given up after ${restarts} restarts`,
  "thread.died": ({ threadId, reason, charged, redispatched }) =>
    `thread ${threadId} died: ${reason} (${charged} charged, ${redispatched} started again)`,
  "breaker.opened": ({ stream, group, failures, nextInMs, reason }) =>
    `${stream}/${group} failed ${failures} times in a row, and tries one event in ${nextInMs} ms: ${reason}`,
  "fetch.failed": ({ stream, group, failures, nextInMs, error }) =>
    `${stream}/${group} cannot reach the store (failure ${failures}, next try in ${nextInMs} ms): ${error.message}`,
  "renew.failed": ({ stream, group, count, error }) => `${stream}/${group} could not renew ${count} leases: ${error.message}`,
  "lease.lost": ({ stream, group, partition, sequence, why }) =>
    `${stream}/${group} lost its lease on ${partition}@${sequence}: ${why}`,
  "handler.timed_out": ({ stream, group, partition, sequence, timeoutMs }) =>
    `${stream}/${group} took more than ${timeoutMs} ms for ${partition}@${sequence}`,
  "dead_letter.created": ({ stream, group, partition, sequence, reason }) =>
    `${stream}/${group} gave up ${partition}@${sequence}: ${reason}`,
};

/** So many lines of one type in this time; what is more is counted, so that a thousand lost leases are no thousand lines. */
const LINES = 10;
const WINDOW_MS = 1_000;

/** Writes lines about what an operator wants to know of a running instance. */
export const narrate = (events: RheoEvents, output: NarratorOutput): void => {
  tell(events, INFO, (text) => output.info(text));
  tell(events, WARN, (text) => output.warn(text));
};

const tell = (events: RheoEvents, telling: Telling, write: (text: string) => void): void => {
  for (const [type, describe] of Object.entries(telling)) {
    const line = describe as (event: unknown) => string; // the event of that type, which is what the emitter gives
    const limited = limit(write, (count) => `${type}: ${count} more`);
    events.on(type as RheoEventType, (event: unknown) => limited(() => line(event)));
  }
};

const limit = (write: (text: string) => void, describeRest: (count: number) => string): ((text: () => string) => void) => {
  let count = 0;
  const end = (): void => {
    if (count > LINES) write(describeRest(count - LINES));
    count = 0;
  };
  return (text) => {
    count += 1;
    if (count === 1) setTimeout(end, WINDOW_MS).unref();
    if (count <= LINES) write(text());
  };
};
