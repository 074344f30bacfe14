import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { Lookout } from "../src/lookout.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

const NEVER_MS = 3_600_000;
const started: Lookout[] = [];
afterEach(() => {
  for (const lookout of started.splice(0)) lookout.stop();
});

/** A file whose version is told apart from its content. */
const watched = (rarelyMs: number, file: string | null = temporaryFile()) => {
  if (file !== null) writeFileSync(file, "");
  const seen = { version: 1, looks: 0, changes: 0, file };
  const lookout = new Lookout({
    look: () => {
      seen.looks += 1;
      return seen.version;
    },
    file: () => file,
    changed: () => {
      seen.changes += 1;
    },
    rarelyMs,
  });
  started.push(lookout);
  lookout.start();
  return { seen, lookout };
};

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await sleep(1);
};

/** Resolves once no look comes any more. Timers of one loop fire in order, so that looks cannot merely be late. */
const quiet = async (seen: { readonly looks: number }): Promise<void> => {
  for (let looks = -1; looks !== seen.looks; await sleep(300)) looks = seen.looks;
};

describe("a file that others write to", () => {
  test("is looked at often, and told of once for each change that was seen", async () => {
    const { seen } = watched(NEVER_MS);
    for (let changes = 1; changes <= 3; changes++) {
      seen.version += 1;
      await until(() => seen.changes === changes);
    }
    await sleep(100);
    expect(seen.changes).toBe(3);
  });

  test("is not looked at once it is quiet; a write to it is noticed all the same, and looks come often again", async () => {
    const { seen } = watched(NEVER_MS);
    await quiet(seen);
    if (seen.file !== null) appendFileSync(seen.file, "a commit");
    seen.version += 1;
    await until(() => seen.changes === 1);
    seen.version += 1; // nothing is written: only looking can find it
    await until(() => seen.changes === 2);
  });

  test("is noticed when the change comes after the write, as that of a commit does", async () => {
    const { seen } = watched(NEVER_MS);
    await quiet(seen);
    const { looks } = seen;
    if (seen.file !== null) appendFileSync(seen.file, "the pages");
    await until(() => seen.looks > looks + 2);
    seen.version += 1;
    await until(() => seen.changes === 1);
  });

  test("is looked at now and then where nobody tells of writes", async () => {
    const { seen } = watched(50);
    await until(() => seen.looks > 60);
    seen.version += 1;
    await until(() => seen.changes === 1);
  });

  test.for([
    ["is not there", temporaryFile()],
    ["is none", null],
  ] as const)("that %s is looked at often", async ([, file]) => {
    const { seen } = watched(NEVER_MS, file);
    if (file !== null) rmSync(file);
    await until(() => seen.looks > 60);
    seen.version += 1;
    await until(() => seen.changes === 1);
  });
});

test("once stopped it looks no more; started again it tells of what comes then", async () => {
  const { seen, lookout } = watched(50);
  lookout.stop();
  const looks = seen.looks;
  seen.version += 1;
  await sleep(100);
  expect(seen.looks).toBe(looks);
  lookout.start();
  seen.version += 1;
  await until(() => seen.changes === 1);
});

test("whoever is told may stop it", async () => {
  let version = 1;
  const lookout: Lookout = new Lookout({
    look: () => version,
    file: () => null,
    changed: () => {
      lookout.stop();
      told += 1;
    },
  });
  let told = 0;
  lookout.start();
  version += 1;
  await until(() => told === 1);
  version += 1;
  await sleep(100);
  expect(told).toBe(1);
});
