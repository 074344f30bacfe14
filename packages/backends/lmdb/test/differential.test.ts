/**
 * The store does what the arithmetic in core does: random calls of the port, here and in memory, with the same answers at every step. At the
 * end it is closed and opened again, so that what it keeps in memory is read anew: it looks the same.
 */
import { type Backend, FrozenClock, type Grant, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { firstSeed, GROUP, runs, STREAM } from "@rheo/testing/internal";
import { expect, test } from "vitest";
import { type Call, Game } from "../../redis/test/fixtures/game.ts";
import { openStore } from "./fixtures/store.ts";

const GAMES = 60;
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

/** Without what a store may leave out: the parsed event, and its size. */
const plain = (answer: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answer, (name, value: unknown) => {
      if (name === "bytes") return undefined;
      return name === "event" && typeof value === "object" && value !== null && "stream" in value ? undefined : value;
    }) ?? "null",
  );

const play = async (seed: number): Promise<number> => {
  const store = openStore();
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
    await ours.close();
    await ours.open({ clock: game.clock, migrate: true });
    for (const look of game.looks()) await compare(look, STEPS);
  } finally {
    for (const backend of [ours, reference]) await backend.close();
    await store.dispose?.();
  }
  return granted;
};

test("random calls of the port are answered as by memory", { timeout: 600_000 }, async () => {
  const first = firstSeed(1);
  let granted = 0;
  for (let game = 0; game < runs(GAMES); game++) granted += await play(first + game);
  expect(granted).toBeGreaterThan(runs(GAMES) * 5);
});
