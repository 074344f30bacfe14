import { Member } from "../member.ts";
import { milliseconds, type Question, type Sample } from "../question.ts";
import { sampleEvents } from "../sample.ts";
import type { Opened } from "../systems.ts";

const LEASE_MS = 2_000;
/** Held by the process that is killed. */
const EVENTS = 100;

/** Times in ms from the kill to the first and to the last start of a handler in the sibling. */
const recover = async ({ rheo, place }: Opened): Promise<{ first: number; last: number }> => {
  if (place.kind !== "server") throw new RangeError("processes share a server only");
  await rheo.createStream("bench");
  await rheo.createGroup("bench", "recovery", { leaseMs: LEASE_MS });
  await rheo.appendMany("bench", sampleEvents(0, EVENTS));
  const victim = await Member.start(place, "hold");
  await victim.started(EVENTS);
  const sibling = await Member.start(place, "ack");
  const killedMs = performance.now();
  await victim.end("SIGKILL");
  await sibling.started(1);
  const first = performance.now() - killedMs;
  await sibling.started(EVENTS);
  const last = performance.now() - killedMs;
  await sibling.end("SIGTERM");
  return { first, last };
};

/** From SIGKILL of a process that holds leases, and renews them, until a sibling has its events. */
export const recovery: Question = {
  name: "recovery",
  title: "SIGKILL of a process → its events elsewhere",
  fits: (system) => system.kind === "server",
  ask: async (system): Promise<readonly Sample[]> => {
    const opened = await system.open();
    const { first, last } = await recover(opened);
    await opened.close();
    const answerer = { name: system.name, settings: `leaseMs ${LEASE_MS}, ${EVENTS} events held` };
    return [
      milliseconds("SIGKILL → first event elsewhere", answerer, first),
      milliseconds("SIGKILL → all events elsewhere", answerer, last),
    ];
  },
};
