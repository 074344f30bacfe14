/** What Redis itself can do: its own consumer groups in a bare loop, without retries, dead letters, fencing or recovery. */
import type { EventInput } from "@rheo/core";
import { Redis } from "ioredis";
import { versionOf } from "../machine.ts";
import type { Scratch } from "../scratch.ts";
import type { OpenedPeer, Peer } from "./peer.ts";

const GROUP = "bench";
const CONSUMER = "one";
const COUNT = 1_000;
/** A read that finds nothing waits for so long, in ms. */
const BLOCK_MS = 1_000;

type Entry = readonly [id: string, fields: readonly string[]];

const open = async ({ url, name }: Scratch): Promise<OpenedPeer> => {
  const key = `${name}:log`;
  const client = new Redis(url);
  await client.xgroup("CREATE", key, GROUP, "0", "MKSTREAM");
  return {
    enqueue: async (events) => {
      const pipeline = client.pipeline();
      for (const event of events) pipeline.xadd(key, "*", "event", JSON.stringify(event));
      for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
    },
    consume: async (_purpose, handle) => {
      // a read that waits holds up whatever else is sent on its connection
      const reader = new Redis(url);
      let isStopped = false;
      const loop = async (): Promise<void> => {
        let acks: Promise<unknown> = Promise.resolve();
        while (!isStopped) {
          const read = await reader.xreadgroup("GROUP", GROUP, CONSUMER, "COUNT", COUNT, "BLOCK", BLOCK_MS, "STREAMS", key, ">");
          const entries = entriesOf(read);
          for (const [, fields] of entries) handle(JSON.parse(fields[1] ?? "null") as EventInput); // as enqueued above
          await acks;
          if (entries.length > 0) acks = client.xack(key, GROUP, ...entries.map(([id]) => id));
        }
        await acks;
      };
      const running = loop();
      running.catch(() => undefined); // seen where it is awaited
      return async () => {
        isStopped = true;
        await running;
        reader.disconnect();
      };
    },
    isDrained: async () => {
      const [pending] = await client.xpending(key, GROUP);
      return pending === 0;
    },
    close: async () => client.disconnect(),
  };
};

/** The answer for the one stream that is read. */
const entriesOf = (answer: unknown): readonly Entry[] => {
  const streams = answer as readonly (readonly [key: string, entries: readonly Entry[]])[] | null; // documented so
  return streams?.[0]?.[1] ?? [];
};

export const xreadgroup: Peer = {
  host: "redis",
  name: "XREADGROUP/XACK",
  version: `by ioredis ${versionOf("ioredis")}`,
  settings: {
    append: "XADD, pipelined",
    drain: `COUNT ${COUNT}, one XACK per read, while the next is under way`,
    latency: "XREADGROUP BLOCK",
  },
  recovery: null,
  open,
};
