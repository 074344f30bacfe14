import type { EventInput } from "@rheo/core";
import { versionOf } from "../machine.ts";
import type { OpenedPeer, Peer } from "./peer.ts";

const QUEUE = "bench";
const JOB = "event";
const CONCURRENCY = 50;
const CONNECTIONS = 20;
const MOST_EVENTS = 20_000;

/** Its PostgreSQL backend; not every version has one. */
const open = async (url: string): Promise<OpenedPeer> => {
  const { createPostgresBackend, Queue, Worker } = await import("bullmq");
  if (createPostgresBackend === undefined) throw new Error("this version has no PostgreSQL backend");
  const connection = { connectionString: url, max: CONNECTIONS, migrate: true };
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
  const queue = new Queue(QUEUE, { connection, defaultJobOptions }, createPostgresBackend);
  queue.on("error", () => undefined); // the call that waits says so, too
  await queue.waitUntilReady();
  return {
    enqueue: async (events) => {
      const [first, ...others] = events;
      if (first !== undefined && others.length === 0) await queue.add(JOB, first);
      else await queue.addBulk(events.map((data) => ({ name: JOB, data })));
    },
    consume: async (_purpose, handle) => {
      const work = async (job: { readonly data: EventInput }): Promise<void> => handle(job.data);
      const options = { connection, concurrency: CONCURRENCY };
      const worker = new Worker(QUEUE, work, options, createPostgresBackend);
      worker.on("error", () => undefined); // tried again; if it is not, the drain does not end, which is reported
      await worker.waitUntilReady();
      return () => worker.close();
    },
    isDrained: async () => {
      const { wait = 0, active = 0, prioritized = 0 } = await queue.getJobCounts("wait", "active", "prioritized");
      return wait + active + prioritized === 0;
    },
    close: () => queue.close(),
  };
};

export const bullmq: Peer = {
  name: "bullmq on PostgreSQL",
  version: versionOf("bullmq"),
  settings: {
    append: "addBulk, add",
    drain: `concurrency ${CONCURRENCY}, ${CONNECTIONS} connections, ${MOST_EVENTS} events`,
    latency: `LISTEN/NOTIFY, concurrency ${CONCURRENCY}`,
  },
  recovery: "documented, not measured: a lock of 30 s (lockDuration), and a look for stalled jobs every 30 s (stalledInterval)",
  mostEvents: MOST_EVENTS,
  open,
};
