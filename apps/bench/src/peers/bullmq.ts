import type { EventInput } from "@rheo/core";
import { versionOf } from "../machine.ts";
import type { Scratch } from "../scratch.ts";
import type { OpenedPeer, Peer } from "./peer.ts";

type Module = typeof import("bullmq");
type Work = (job: { readonly data: EventInput }) => Promise<void>;

const QUEUE = "bench";
const JOB = "event";
const MOST_EVENTS = 20_000;
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true };

/** What is used of its parts, whatever they work on. */
interface Part {
  on(event: "error", listener: () => void): unknown;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}
interface Jobs extends Part {
  add(name: string, data: EventInput): Promise<unknown>;
  addBulk(jobs: { name: string; data: EventInput }[]): Promise<unknown>;
  getJobCounts(...states: ("wait" | "active" | "prioritized")[]): Promise<Record<string, number>>;
}

/** How it is used on a store. */
interface Manner {
  readonly queue: (module: Module, scratch: Scratch) => Jobs;
  readonly worker: (module: Module, scratch: Scratch, work: Work) => Part;
}

const CONNECTIONS = 20;
const POSTGRES_CONCURRENCY = 50;
/** More, or several workers, were slower. */
const REDIS_CONCURRENCY = 100;

const poolOf = ({ url }: Scratch): { connectionString: string; max: number; migrate: boolean } => ({
  connectionString: url,
  max: CONNECTIONS,
  migrate: true,
});
const backendOf = ({ createPostgresBackend }: Module): Module["createPostgresBackend"] => {
  if (createPostgresBackend === undefined) throw new Error("this version has no PostgreSQL backend");
  return createPostgresBackend;
};

const ON_POSTGRES: Manner = {
  queue: (module, scratch) =>
    new module.Queue(QUEUE, { connection: poolOf(scratch), defaultJobOptions: JOB_OPTIONS }, backendOf(module)),
  worker: (module, scratch, work) =>
    new module.Worker(QUEUE, work, { connection: poolOf(scratch), concurrency: POSTGRES_CONCURRENCY }, backendOf(module)),
};

const placeOf = ({ url, name }: Scratch): { connection: { url: string; maxRetriesPerRequest: null }; prefix: string } => ({
  connection: { url, maxRetriesPerRequest: null },
  prefix: name,
});

const ON_REDIS: Manner = {
  queue: (module, scratch) => new module.Queue(QUEUE, { ...placeOf(scratch), defaultJobOptions: JOB_OPTIONS }),
  worker: (module, scratch, work) => new module.Worker(QUEUE, work, { ...placeOf(scratch), concurrency: REDIS_CONCURRENCY }),
};

const open = async (scratch: Scratch, manner: Manner): Promise<OpenedPeer> => {
  const module = await import("bullmq");
  const queue = manner.queue(module, scratch);
  queue.on("error", () => undefined); // the call that waits says so, too
  await queue.waitUntilReady();
  return {
    enqueue: async (events) => {
      const [first, ...others] = events;
      if (first !== undefined && others.length === 0) await queue.add(JOB, first);
      else await queue.addBulk(events.map((data) => ({ name: JOB, data })));
    },
    consume: async (_purpose, handle) => {
      const worker = manner.worker(module, scratch, async (job) => handle(job.data));
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

const RECOVERY =
  "documented, not measured: a lock of 30 s (lockDuration), and a look for stalled jobs every 30 s (stalledInterval)";

export const bullmqOnPostgres: Peer = {
  host: "postgres",
  name: "bullmq on PostgreSQL",
  version: versionOf("bullmq"),
  settings: {
    append: "addBulk, add",
    drain: `concurrency ${POSTGRES_CONCURRENCY}, ${CONNECTIONS} connections, ${MOST_EVENTS} events`,
    latency: `LISTEN/NOTIFY, concurrency ${POSTGRES_CONCURRENCY}`,
  },
  recovery: RECOVERY,
  mostEvents: MOST_EVENTS,
  open: (scratch) => open(scratch, ON_POSTGRES),
};

export const bullmqOnRedis: Peer = {
  host: "redis",
  name: "bullmq on Redis",
  version: versionOf("bullmq"),
  settings: {
    append: "addBulk, add",
    drain: `concurrency ${REDIS_CONCURRENCY}`,
    latency: `concurrency ${REDIS_CONCURRENCY}`,
  },
  recovery: RECOVERY,
  open: (scratch) => open(scratch, ON_REDIS),
};
