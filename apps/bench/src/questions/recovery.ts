import { GROUP, STREAM } from "../backlog.ts";
import { Member } from "../member.ts";
import { milliseconds, type Question, type Sample } from "../question.ts";
import { sampleEvents } from "../sample.ts";
import { type Opened, sharedUrlOf } from "../systems.ts";

const LEASE_MS = 2_000;
/** Held by the process that is killed. */
const EVENTS = 100;

/** Times in ms from the kill to the first and to the last start of a handler in the sibling. */
const recover = async ({ rheo, place }: Opened): Promise<{ first: number; last: number }> => {
  const url = sharedUrlOf(place);
  if (url === null) throw new RangeError("processes share a file or a server only");
  await rheo.createStream(STREAM);
  await rheo.createGroup(STREAM, GROUP, { leaseMs: LEASE_MS });
  await rheo.appendMany(STREAM, sampleEvents(0, EVENTS));
  const victim = await Member.start(url, "hold");
  await victim.counted(EVENTS);
  const sibling = await Member.start(url, "ack");
  const killedMs = performance.now();
  await victim.end("SIGKILL");
  await sibling.counted(1);
  const first = performance.now() - killedMs;
  await sibling.counted(EVENTS);
  const last = performance.now() - killedMs;
  await sibling.end("SIGTERM");
  return { first, last };
};

/** From SIGKILL of a process that holds leases, and renews them, until a sibling has its events. */
export const recovery: Question = {
  name: "recovery",
  title: "SIGKILL of a process → its events elsewhere",
  fits: ({ kind }) => kind === "file" || kind === "server",
  ask: async (system): Promise<readonly Sample[]> => {
    const opened = await system.open();
    const { first, last } = await recover(opened);
    await opened.close();
    const parameters = { leaseMs: LEASE_MS, held: EVENTS };
    return [
      milliseconds("SIGKILL → first event elsewhere", system, first, parameters),
      milliseconds("SIGKILL → all events elsewhere", system, last, parameters),
    ];
  },
};
