/** The peers, and how one is used for one measurement. */
import type { Hosts } from "../hosts.ts";
import { within } from "../within.ts";
import { bullmqOnPostgres, bullmqOnRedis } from "./bullmq.ts";
import { graphileWorker } from "./graphile-worker.ts";
import { jetstream } from "./jetstream.ts";
import type { Peer, PeerInUse } from "./peer.ts";
import { pgBossByFetch, pgBossByWork } from "./pg-boss.ts";
import { xreadgroup } from "./xreadgroup.ts";

export const PEERS: readonly Peer[] = [
  graphileWorker,
  pgBossByFetch,
  pgBossByWork,
  bullmqOnPostgres,
  bullmqOnRedis,
  xreadgroup,
  jetstream,
];

export const isBeside = ({ host, beside = [] }: Peer, stores: readonly string[]): boolean =>
  beside.length > 0 ? beside.some((store) => stores.includes(store)) : stores.includes(host);

/** One measurement of one peer at most, in ms: a peer that got stuck does not hold up the run. */
const LONGEST_MS = 300_000;

/** In a place of its own, emptied afterwards. @throws what the peer throws, or when it takes too long */
export const usePeer = async <T>(hosts: Hosts, peer: Peer, ask: (inUse: PeerInUse) => Promise<T>): Promise<T> => {
  const scratch = await hosts.scratch(peer.host);
  const work = async (): Promise<T> => {
    const opened = await peer.open(scratch);
    try {
      return await ask({ peer, scratch, opened });
    } finally {
      await opened.close();
    }
  };
  try {
    return await within(LONGEST_MS, work());
  } finally {
    await scratch.drop();
  }
};
