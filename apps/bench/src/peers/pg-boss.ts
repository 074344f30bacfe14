import { setTimeout as sleep } from "node:timers/promises";
import type { EventInput } from "@rheo/core";
import type PgBoss from "pg-boss";
import { versionOf } from "../machine.ts";
import type { Scratch } from "../scratch.ts";
import type { OpenedPeer, Peer, Purpose } from "./peer.ts";

const QUEUE = "bench";
const CONNECTIONS = 12;
const BATCH = 1_000;
const LOOPS = 4;
/** The least that it allows, in seconds. */
const POLL_SECONDS = 0.5;
/** Before the next fetch after an empty one, in ms. */
const IDLE_MS = 5;

type Handle = (event: EventInput) => void;
type Consume = (boss: PgBoss, purpose: Purpose, handle: Handle) => Promise<() => Promise<void>>;

/** Loops of fetch and complete. */
const byFetch: Consume = async (boss, _purpose, handle) => {
  let isStopped = false;
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      const jobs = await boss.fetch<EventInput>(QUEUE, { batchSize: BATCH, priority: false });
      for (const job of jobs) handle(job.data);
      if (jobs.length === 0) await sleep(IDLE_MS);
      else await boss.complete(QUEUE, ids(jobs));
    }
  };
  const loops = Promise.all(Array.from({ length: LOOPS }, loop));
  loops.catch(() => undefined); // seen where it is awaited
  return async () => {
    isStopped = true;
    await loops;
  };
};

const ids = (jobs: readonly PgBoss.Job<EventInput>[]): string[] => jobs.map((job) => job.id);

/** Its own workers. One that got a full batch is told to fetch again at once, or it would wait for its next poll. */
const byWork: Consume = async (boss, purpose, handle) => {
  const options = { batchSize: BATCH, priority: false, pollingIntervalSeconds: POLL_SECONDS };
  const start = async (): Promise<void> => {
    const id: string = await boss.work<EventInput>(QUEUE, options, async (jobs) => {
      for (const job of jobs) handle(job.data);
      if (jobs.length === BATCH) boss.notifyWorker(id);
    });
  };
  for (let worker = 0; worker < (purpose === "drain" ? LOOPS : 1); worker++) await start();
  return () => boss.offWork(QUEUE);
};

const open = async ({ url }: Scratch, consume: Consume): Promise<OpenedPeer> => {
  const { default: Boss } = await import("pg-boss");
  const boss = new Boss({ connectionString: url, max: CONNECTIONS });
  boss.on("error", () => undefined); // what fails is tried again; if it is not, the drain does not end, which is reported
  await boss.start();
  await boss.createQueue(QUEUE);
  return {
    enqueue: async (events) => {
      const [first, ...others] = events;
      if (first !== undefined && others.length === 0) await boss.send(QUEUE, first);
      else await boss.insert(events.map((data) => ({ name: QUEUE, data })));
    },
    consume: (purpose, handle) => consume(boss, purpose, handle),
    isDrained: async () => (await boss.getQueueSize(QUEUE, { before: "completed" })) === 0,
    close: () => boss.stop({ graceful: false, wait: true }),
  };
};

export const pgBossByFetch: Peer = {
  host: "postgres",
  name: "pg-boss by hand",
  version: versionOf("pg-boss"),
  settings: { append: "insert, send", drain: `fetch/complete ${BATCH} in ${LOOPS} loops, priority off` },
  recovery: "documented, not measured: jobs expire 15 min after their start (expireInSeconds), seen by maintenance every 2 min",
  open: (scratch) => open(scratch, byFetch),
};

export const pgBossByWork: Peer = {
  host: "postgres",
  name: "pg-boss work()",
  version: versionOf("pg-boss"),
  settings: {
    drain: `${LOOPS} × work(), batchSize ${BATCH}, priority off, notifyWorker after full batches`,
    latency: `work(), polling every ${POLL_SECONDS} s, the least; this version has no NOTIFY`,
  },
  recovery: null,
  pollMs: POLL_SECONDS * 1_000,
  open: (scratch) => open(scratch, byWork),
};
