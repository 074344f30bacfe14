/** MongoDB does what the arithmetic in core does: random calls of the port, on MongoDB and in memory, with the same answers at every step. */
import { type Backend, FrozenClock, type Grant, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import type { StoreUnderTest } from "@rheo/testing";
import { startMongo } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";
import { type Call, Game } from "./fixtures/game.ts";
import { GROUP, STREAM } from "./fixtures/scene.ts";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

const GAMES = 10;
const STEPS = 60;

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

const play = async (seed: number, store: StoreUnderTest): Promise<number> => {
  const game = new Game(seed, new FrozenClock(), true);
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

test(`${GAMES} games are answered as by memory`, { timeout: 300_000 }, async () => {
  const first = Number(process.env.RHEO_SEED ?? 1);
  const runs = GAMES * Number(process.env.RHEO_RUNS ?? 1);
  let granted = 0;
  for (let seed = first; seed < first + runs; seed++) granted += await play(seed, await openStore(server.url));
  expect(granted).toBeGreaterThan(runs * 5);
});
