/**
 * Operations at once must come to what some order of them comes to, one after another (linearizability). The orders are played on a store in
 * memory, which does one thing at a time. A fetch may also come away with nothing while others are at it: members go on past what is locked.
 */
import type { Scheduler } from "fast-check";
import type { BackendUnderTest } from "../store.ts";
import type { Race, RaceOp } from "./race-ops.ts";
import { Racer } from "./racer.ts";

/** @throws when no order explains what was seen */
export const runRace = async (
  backend: BackendUnderTest,
  reference: BackendUnderTest,
  race: Race,
  scheduler: Scheduler,
): Promise<void> => {
  const seen = await play(backend, race, scheduler);
  const known: string[] = [];
  for (const order of orders(race.ops.map((_, index) => index))) {
    for (const ops of withIdleFetches(race.ops, seen.answers)) {
      const expected = await playInOrder(reference, { ...race, ops }, order);
      if (same(seen, expected)) return;
      known.push(`${order.join(" ")}: ${expected.answers.join(" | ")} → ${expected.look}`);
    }
  }
  throw new Error(
    `${seen.answers.join(" | ")} → ${seen.look}\nis what no order of ${JSON.stringify(race.ops)} comes to:\n${known.join("\n")}`,
  );
};

interface Seen {
  readonly answers: readonly string[];
  readonly look: string;
}

const same = (a: Seen, b: Seen): boolean => a.look === b.look && a.answers.every((answer, index) => answer === b.answers[index]);

const play = async (backend: BackendUnderTest, race: Race, scheduler: Scheduler): Promise<Seen> => {
  const racer = await Racer.open(backend, race);
  try {
    await racer.prepare(race.setup);
    const running = race.ops.map((op, index) =>
      scheduler.schedule(Promise.resolve(), `${index} begins`).then(() => racer.perform(op, index)),
    );
    await scheduler.waitAll();
    return { answers: await Promise.all(running), look: await racer.look() };
  } finally {
    await racer.close();
  }
};

const playInOrder = async (reference: BackendUnderTest, race: Race, order: readonly number[]): Promise<Seen> => {
  const racer = await Racer.open(reference, race);
  try {
    await racer.prepare(race.setup);
    const answers: string[] = [];
    for (const index of order) {
      const op = race.ops[index];
      if (op !== undefined) answers[index] = await racer.perform(op, index);
    }
    return { answers, look: await racer.look() };
  } finally {
    await racer.close();
  }
};

/** The operations, and the same with some of those fetches left out that were seen to come away with nothing. */
const withIdleFetches = (ops: readonly RaceOp[], answers: readonly string[]): (readonly RaceOp[])[] => {
  let variants: (readonly RaceOp[])[] = [[]];
  for (const [index, op] of ops.entries()) {
    const isIdle = answers[index]?.startsWith('{"died":[],"given":[],') === true;
    const idle: RaceOp | null = !isIdle
      ? null
      : op.kind === "fetch"
        ? NOTHING
        : op.kind === "settle"
          ? { ...op, limit: null }
          : null;
    variants = variants.flatMap((variant) => [[...variant, op], ...(idle === null ? [] : [[...variant, idle]])]);
  }
  return variants;
};

/** Settles nothing, fetches nothing. */
const NOTHING: RaceOp = { kind: "settle", pick: -1, how: "ack", limit: null };

const orders = (items: readonly number[]): number[][] =>
  items.length <= 1
    ? [[...items]]
    : items.flatMap((first) => orders(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
