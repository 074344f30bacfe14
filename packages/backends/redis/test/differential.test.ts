/** Redis does what the arithmetic in core does: random calls of the port, on Redis and in memory, with the same answers at every step. */
import { type Backend, FrozenClock, type Grant, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import type { StoreUnderTest } from "@rheo/testing";
import { startRedis, startRedisCluster } from "@rheo/testing/servers";
import { afterAll, describe, expect, test } from "vitest";
import { type Call, Game } from "./fixtures/game.ts";
import { GROUP, STREAM } from "./fixtures/scene.ts";
import { openClusterStore, openStore } from "./fixtures/store.ts";

const server = await startRedis();
const cluster = await startRedisCluster();
afterAll(() => Promise.all([server.stop(), cluster.stop()]));

/** Tokens of a group that is made again rise by partition on a Cluster, and over all of them elsewhere: it is not made again there. */
const STORES: readonly (readonly [name: string, games: number, recreates: boolean, open: () => StoreUnderTest])[] = [
  ["a server", 60, true, () => openStore(server.url)],
  [
    "a Cluster",
    20,
    false,
    () =>
      openClusterStore(
        cluster.nodes,
        cluster.masters.map(({ url }) => url),
      ),
  ],
];
const STEPS = 90;

/** What came of a call, in a form that can be compared. */
const outcome = async (backend: Backend, call: Call): Promise<unknown> => {
  try {
    return plain(await call(backend));
  } catch (error) {
    if (RheoError.is(error) && error.code !== "unavailable" && error.code !== "outcome_unknown") return { code: error.code };
    throw error;
  }
};

/** Without what a store may leave out: the parsed event, its size, and the order in which kept expiries are told. */
const plain = (answer: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answer, (name, value: unknown) => {
      if (name === "bytes") return undefined;
      if (name === "event" && typeof value === "object" && value !== null && "stream" in value) return undefined;
      if (name === "kept" && Array.isArray(value)) return value.map((one) => JSON.stringify(one)).sort();
      return value;
    }) ?? "null",
  );

const play = async (seed: number, store: StoreUnderTest, recreates: boolean): Promise<number> => {
  const game = new Game(seed, new FrozenClock(), recreates);
  const [ours, reference] = [store.backend, memory()];
  let granted = 0;
  const compare = async (call: Call, step: number): Promise<unknown> => {
    const expected = await outcome(reference, call);
    const place = `RHEO_SEED=${seed}, step ${step}, ${String(call)}: ${JSON.stringify(game.options)}`;
    expect(await outcome(ours, call), place).toEqual(expected);
    return expected;
  };
  try {
    for (const backend of [ours, reference]) {
      await backend.open({ clock: game.clock, migrate: true });
      await backend.createStream(STREAM, game.partitions);
      await backend.createGroup(STREAM, GROUP, game.options, { kind: "earliest" });
    }
    for (let step = 0; step < STEPS; step++) {
      const answer = await compare(game.next(), step);
      const grants = typeof answer === "object" && answer !== null && "grants" in answer ? (answer.grants as Grant[]) : [];
      game.note(grants);
      granted += grants.length;
      if (step % 3 === 0) for (const look of game.looks()) await compare(look, step);
    }
  } finally {
    for (const backend of [ours, reference]) await backend.close();
    await store.dispose?.();
  }
  return granted;
};

describe("random calls of the port", () => {
  test.for(STORES)("on %s: %i games are answered as by memory", { timeout: 600_000 }, async ([, games, recreates, open]) => {
    const first = Number(process.env.RHEO_SEED ?? 1);
    const runs = games * Number(process.env.RHEO_RUNS ?? 1);
    let granted = 0;
    for (let seed = first; seed < first + runs; seed++) granted += await play(seed, open(), recreates);
    expect(granted).toBeGreaterThan(runs * 5);
  });
});
