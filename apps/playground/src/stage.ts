/** The stream and the group that everything live plays on. */
import { type Rheo, RheoError } from "@rheo/core";
import type { Place } from "./place.ts";

export interface Stage extends AsyncDisposable {
  readonly rheo: Rheo;
  readonly stream: string;
  readonly group: string;
}

const GROUP = "billing";
const PARTITIONS = 2;
/** Short, as somebody watches a killed member's leases run out; renewed while a handler works. */
const LEASE_MS = 5_000;
/** Few, so that poison ends in a dead letter while one watches. */
const MAX_ATTEMPTS = 3;
const RETRY = { minMs: 1_000, maxMs: 4_000 };

/** Makes them; on disposal removes the stream, as the store may be somebody's. */
export const openStage = async (rheo: Rheo, { stream }: Place): Promise<Stage> => {
  await rheo.createStream(stream, { partitions: PARTITIONS });
  await rheo.createGroup(stream, GROUP, { leaseMs: LEASE_MS, maxAttempts: MAX_ATTEMPTS, retry: RETRY });
  return { rheo, stream, group: GROUP, [Symbol.asyncDispose]: () => remove(rheo, stream) };
};

const remove = async (rheo: Rheo, stream: string): Promise<void> => {
  await rheo.deleteStream(stream, { confirm: true }).catch((error: unknown) => {
    if (!RheoError.is(error, "stream_not_found")) throw error;
  });
};
