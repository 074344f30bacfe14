/** The peers, and how one is used for one measurement. */
import { setTimeout as sleep } from "node:timers/promises";
import type { PostgresHost } from "../postgres-host.ts";
import { bullmq } from "./bullmq.ts";
import { graphileWorker } from "./graphile-worker.ts";
import type { Peer, PeerInUse } from "./peer.ts";
import { pgBossByFetch, pgBossByWork } from "./pg-boss.ts";

export const PEERS: readonly Peer[] = [graphileWorker, pgBossByFetch, pgBossByWork, bullmq];

/** One measurement of one peer at most, in ms: a peer that got stuck does not hold up the run. */
const LONGEST_MS = 300_000;

/** In a database of its own, dropped afterwards. @throws what the peer throws, or when it takes too long */
export const usePeer = async <T>(host: PostgresHost, peer: Peer, ask: (inUse: PeerInUse) => Promise<T>): Promise<T> => {
  const { url, drop } = await host.database();
  const work = async (): Promise<T> => {
    const opened = await peer.open(url);
    try {
      return await ask({ peer, url, opened });
    } finally {
      await opened.close();
    }
  };
  try {
    return await within(LONGEST_MS, work());
  } finally {
    await drop();
  }
};

const within = async <T>(limitMs: number, work: Promise<T>): Promise<T> => {
  const timer = new AbortController();
  const late = sleep(limitMs, null, { signal: timer.signal }).then(() => {
    throw new Error(`no end after ${limitMs / 1_000} s`);
  });
  late.catch(() => undefined); // called off below
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
};
