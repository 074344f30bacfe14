import { internalsOf } from "@rheo/core/internal";
import { defineConsumer, type Supervisor, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { AssignmentStore } from "@rheo/runtime/internal";
import { milliseconds, type Question, type Sample } from "../question.ts";
import type { Opened } from "../systems.ts";

const PARTITIONS = 12;
const LEASE_MS = 2_000;

const join = ({ rheo }: Opened): Promise<Supervisor> => {
  const consumer = defineConsumer({ stream: "bench", group: "g", partitions: "assigned", handler: handler(() => undefined) });
  return supervise({ rheo, consumers: [consumer] });
};

const sizeOf = (app: Supervisor): number => {
  const partitions = app.children()[0]?.details.partitions;
  return Array.isArray(partitions) ? partitions.length : 0;
};

/** Ms until each member holds so many partitions. */
const timeUntil = async (sizes: readonly number[], ...apps: readonly Supervisor[]): Promise<number> => {
  const startMs = performance.now();
  while (apps.some((app, at) => sizeOf(app) !== sizes[at])) await new Promise((resolve) => setTimeout(resolve, 1));
  return performance.now() - startMs;
};

/** A member that takes its share and never renews it, as one that is killed. */
const dieWithShare = async ({ rheo }: Opened, other: Supervisor): Promise<number> => {
  const names = { stream: "bench", group: "g", partitions: PARTITIONS, consumerId: "victim" };
  const victim = new AssignmentStore(internalsOf(rheo).backend, names, () => LEASE_MS / 2);
  await victim.ensure();
  await victim.takeSeat();
  await timeUntil([PARTITIONS / 2], other);
  await victim.take(PARTITIONS / 2);
  return timeUntil([PARTITIONS], other);
};

export const runtimeRebalance: Question = {
  name: "runtime-rebalance",
  title: "assigned partitions: time until they are shared again",
  ask: async (system): Promise<readonly Sample[]> => {
    const opened = await system.open();
    await opened.rheo.createStream("bench", { partitions: PARTITIONS });
    await opened.rheo.createGroup("bench", "g", { leaseMs: LEASE_MS });
    const answerer = { name: system.name, settings: `leaseMs ${LEASE_MS}, ${PARTITIONS} partitions` };
    const first = await join(opened);
    const alone = await timeUntil([PARTITIONS], first);
    const second = await join(opened);
    const joined = await timeUntil([PARTITIONS / 2, PARTITIONS / 2], first, second);
    await second.stop();
    const left = await timeUntil([PARTITIONS], first);
    const died = await dieWithShare(opened, first);
    await first.stop();
    await opened.close();
    return [
      milliseconds("first member → it has all partitions", answerer, alone),
      milliseconds("second member joins → half each", answerer, joined),
      milliseconds("second member leaves → the first has all", answerer, left),
      milliseconds("a member dies → the first has all", answerer, died),
    ];
  },
};
