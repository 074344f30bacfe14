import type { EventInput } from "@rheo/core";
import type { Runner, RunnerOptions } from "graphile-worker";
import { versionOf } from "../machine.ts";
import type { Scratch } from "../scratch.ts";
import type { OpenedPeer, Peer, Purpose } from "./peer.ts";

const TASK = "bench";
const CONCURRENCY = 24;
const LOCAL_QUEUE = 500;

/** For throughput a local queue and completion in batches; for latency neither, as its documentation says that they cost some. */
const SETTINGS = {
  drain: {
    concurrentJobs: CONCURRENCY,
    maxPoolSize: CONCURRENCY + 2,
    localQueue: { size: LOCAL_QUEUE },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
  latency: { concurrentJobs: 1 },
} as const satisfies Record<Purpose, object>;

const open = async ({ url }: Scratch): Promise<OpenedPeer> => {
  const { Logger, makeWorkerUtils, run } = await import("graphile-worker");
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  const start = (purpose: Purpose, handle: (event: EventInput) => void): Promise<Runner> => {
    const options: RunnerOptions = {
      preset: { worker: { connectionString: url, ...SETTINGS[purpose] } },
      noHandleSignals: true,
      logger,
      taskList: { [TASK]: async (payload) => handle(payload as EventInput) }, // as enqueued below
    };
    return run(options);
  };
  return {
    enqueue: async (events) => {
      const [first, ...others] = events;
      if (first !== undefined && others.length === 0) await utils.addJob(TASK, first);
      else await utils.addJobs(events.map((payload) => ({ identifier: TASK, payload })));
    },
    consume: async (purpose, handle) => {
      const runner = await start(purpose, handle);
      return () => runner.stop();
    },
    isDrained: async () => {
      const sql = "SELECT FROM graphile_worker._private_jobs LIMIT 1";
      return utils.withPgClient(async (client) => (await client.query(sql)).rowCount === 0);
    },
    close: async () => utils.release(),
  };
};

export const graphileWorker: Peer = {
  host: "postgres",
  name: "graphile-worker",
  version: versionOf("graphile-worker"),
  settings: {
    append: "addJobs, addJob",
    drain: `localQueue ${LOCAL_QUEUE}, completion batched at 0 ms, concurrency ${CONCURRENCY}`,
    latency: "LISTEN/NOTIFY, no localQueue, concurrency 1",
  },
  recovery: "documented, not measured: a killed worker's jobs stay locked for 4 hours, then a look every 8–10 min frees them",
  open,
};
