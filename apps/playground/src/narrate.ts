/** Puts what an instance tells into words. What comes by the hundred is counted, and told twice a second. */
import type { Rheo, RheoEventMap, RheoEventType } from "@rheo/core";
import type { Saying } from "./narration.ts";
import type { Tone } from "./views.ts";

type Say = (saying: Saying) => void;
type Telling = { readonly [Type in RheoEventType]?: (event: RheoEventMap[Type]) => Saying };

const ONE_BY_ONE: Telling = {
  "consumer.started": () => ({ tone: "info", text: "runs" }),
  "consumer.draining": () => ({ tone: "info", text: "fetches nothing more, and lets its handlers finish" }),
  "thread.died": ({ threadId, reason, charged, redispatched }) => ({
    tone: "warn",
    text: `thread ${threadId} died: ${reason} (${charged} charged with an attempt, ${redispatched} handed to another thread)`,
  }),
  "lease.lost": ({ partition, sequence, why }) => ({
    tone: "warn",
    text: `lost its lease on ${partition}@${sequence} while the handler ran: ${why}`,
  }),
  "lease.stale": ({ partition, sequence, token, why }) => ({
    tone: "warn",
    text: `was refused: its token ${token} for ${partition}@${sequence} is stale (${why})`,
  }),
  "dead_letter.created": ({ partition, sequence, reason }) => ({
    tone: "bad",
    text: `${partition}@${sequence} is a dead letter: ${reason}`,
  }),
  "dead_letter.redriven": ({ reopened }) => ({
    tone: "info",
    text: `redrove ${reopened} dead letters: they begin at attempt 1 again`,
  }),
  "fetch.failed": ({ error, nextInMs }) => ({
    tone: "warn",
    text: `could not fetch, and tries again in ${nextInMs} ms: ${error.message}`,
  }),
  "settle.failed": ({ error }) => ({ tone: "warn", text: `could not settle: ${error.message}` }),
  "renew.failed": ({ error }) => ({ tone: "warn", text: `could not renew: ${error.message}` }),
  "child.failed": ({ child, error }) => ({ tone: "warn", text: `${child} failed: ${error.message}` }),
  "supervisor.escalated": ({ child, restarts }) => ({
    tone: "bad",
    text: `${child} failed too often and is given up after ${restarts} restarts`,
  }),
};

const TALLY_MS = 500;

export const narrate = ({ events }: Rheo, say: Say): void => {
  for (const [type, describe] of Object.entries(ONE_BY_ONE)) {
    const saying = describe as (event: unknown) => Saying; // the event of that type, which is what the emitter gives
    events.on(type as RheoEventType, (event: unknown) => say(saying(event)));
  }
  const tally = (tone: Tone, text: (count: string) => string): ((count: number) => void) => counted(say, tone, text);
  const appended = tally("info", (count) => `published ${count}`);
  const again = tally("warn", (count) => `got ${count} that somebody had begun before`);
  const acked = tally("good", (count) => `acked ${count}`);
  const retrying = tally("warn", (count) => `failed at ${count}: retried after a delay`);
  const released = tally("info", (count) => `gave back ${count} it had not begun`);
  events.on("event.appended", ({ count }) => appended(count));
  events.on("lease.granted", ({ redelivered }) => again(redelivered));
  events.on("lease.settled", (settled) => {
    acked(settled.acked);
    retrying(settled.retrying);
    released(settled.released);
  });
};

const counted = (say: Say, tone: Tone, text: (count: string) => string): ((count: number) => void) => {
  let sum = 0;
  const tell = (): void => {
    say({ tone, text: text(sum === 1 ? "1 event" : `${sum} events`) });
    sum = 0;
  };
  return (count) => {
    if (count > 0 && sum === 0) setTimeout(tell, TALLY_MS).unref();
    sum += count;
  };
};
