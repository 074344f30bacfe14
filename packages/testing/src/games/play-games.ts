/** Games: random calls of the port, on a store and on one in memory, which must give the same answers at every step. */
import { type Backend, FrozenClock, type Grant, RheoError } from "@rheo/core";
import { expect } from "vitest";
import { firstSeed, runs } from "../environment.ts";
import { GROUP, STREAM } from "../scene.ts";
import type { StoreUnderTest } from "../store.ts";
import { type Call, Game } from "./game.ts";

export interface GamesOptions {
  /** A new, empty store for each game. */
  readonly open: () => StoreUnderTest | Promise<StoreUnderTest>;
  /** A new store in memory. */
  readonly reference: () => Backend;
  /** How many, times RHEO_RUNS. */
  readonly games: number;
  /** Calls of each. */
  readonly steps: number;
  /** Whether groups are removed and made again, too. */
  readonly recreates: boolean;
  /** Whether the store is closed and opened again at the end, so that what it keeps in memory is read anew. */
  readonly reopens: boolean;
}

/** Grants that a game has on average, or it is none. */
const LEAST_GRANTS = 5;

/** @throws when an answer differs: RHEO_SEED names the game */
export const playGames = async (options: GamesOptions): Promise<void> => {
  const first = firstSeed(1);
  const count = runs(options.games);
  let granted = 0;
  for (let seed = first; seed < first + count; seed++) granted += await play(seed, options);
  expect(granted).toBeGreaterThan(count * LEAST_GRANTS);
};

const play = async (seed: number, { open, reference, steps, recreates, reopens }: GamesOptions): Promise<number> => {
  const store = await open();
  const game = new Game(seed, new FrozenClock(), recreates);
  const [ours, theirs] = [store.backend, reference()];
  let granted = 0;
  const compare = async (call: Call, step: number): Promise<unknown> => {
    const expected = await outcome(theirs, call);
    const place = `RHEO_SEED=${seed}, step ${step}, ${String(call)}: ${JSON.stringify(game.options)}`;
    expect(await outcome(ours, call), place).toEqual(expected);
    return expected;
  };
  const look = async (step: number): Promise<void> => {
    for (const call of game.looks()) await compare(call, step);
  };
  try {
    for (const backend of [ours, theirs]) {
      await backend.open({ clock: game.clock, migrate: true });
      await backend.createStream(STREAM, game.partitions);
      await backend.createGroup(STREAM, GROUP, game.options, { kind: "earliest" });
    }
    for (let step = 0; step < steps; step++) {
      const answer = await compare(game.next(), step);
      const grants = typeof answer === "object" && answer !== null && "grants" in answer ? (answer.grants as Grant[]) : [];
      game.note(grants);
      granted += grants.length;
      if (step % LOOK_EVERY === 0) await look(step);
    }
    if (reopens) {
      await ours.close();
      await ours.open({ clock: game.clock, migrate: true });
      await look(steps);
    }
  } finally {
    for (const backend of [ours, theirs]) await backend.close();
    await store.dispose?.();
  }
  return granted;
};

const LOOK_EVERY = 3;

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
