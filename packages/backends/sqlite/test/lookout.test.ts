import { appendFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { FrozenClock } from "@rheo/core";
import { afterEach, describe, expect, test } from "vitest";
import { Lookout } from "../src/lookout.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

/** Between looks while there are commits, and once there are none; and more than it takes to become quiet. */
const OFTEN_MS = 20;
const RARELY_MS = 500;
const PAUSE_MS = 1_100;

const started: Lookout[] = [];
afterEach(() => {
  for (const lookout of started.splice(0)) lookout.stop();
});

/** A file whose version is told apart from its content. */
const watched = (file: string | null = temporaryFile()) => {
  if (file !== null) writeFileSync(file, "");
  const clock = new FrozenClock();
  const seen = { version: 1, looks: 0, changes: 0 };
  const lookout = new Lookout({
    look: () => {
      seen.looks += 1;
      return seen.version;
    },
    file: () => file,
    changed: () => {
      seen.changes += 1;
    },
    clock,
  });
  started.push(lookout);
  lookout.start();
  return { seen, lookout, clock, file: file ?? "" };
};

/** Writes, and resolves once the file system has told everybody. */
const write = async (file: string): Promise<void> => {
  const told = new Promise<void>((resolve) => {
    const watcher = watch(file, () => {
      watcher.close();
      resolve();
    });
  });
  appendFileSync(file, "a commit");
  await told;
  await new Promise((resolve) => setImmediate(resolve));
};

describe("a file that others write to", () => {
  test("is looked at often, and told of once for each change that was seen", () => {
    const { seen, clock } = watched();
    for (let changes = 1; changes <= 3; changes++) {
      seen.version += 1;
      clock.advance(OFTEN_MS);
      expect(seen.changes).toBe(changes);
    }
    clock.advance(100);
    expect(seen.changes).toBe(3);
  });

  test("is looked at rarely once it is quiet; a write to it is noticed all the same, and looks come often again", async () => {
    const { seen, clock, file } = watched();
    clock.advance(PAUSE_MS);
    const { looks } = seen;
    clock.advance(5 * RARELY_MS);
    expect(seen.looks - looks).toBe(5);
    await write(file);
    seen.version += 1;
    clock.advance(1);
    expect(seen.changes).toBe(1);
    seen.version += 1; // nothing is written: only looking can find it
    clock.advance(OFTEN_MS);
    expect(seen.changes).toBe(2);
  });

  test("is noticed when the change comes after the write, as that of a commit does", async () => {
    const { seen, clock, file } = watched();
    clock.advance(PAUSE_MS);
    const { looks } = seen;
    await write(file);
    clock.advance(3);
    expect([seen.looks - looks, seen.changes]).toEqual([2, 0]);
    seen.version += 1;
    clock.advance(OFTEN_MS);
    expect(seen.changes).toBe(1);
  });

  test("is looked at now and then where nobody tells of writes", () => {
    const { seen, clock } = watched();
    clock.advance(PAUSE_MS);
    seen.version += 1;
    clock.advance(RARELY_MS);
    expect(seen.changes).toBe(1);
  });

  test.for([
    ["is not there", temporaryFile()],
    ["is none", null],
  ] as const)("that %s is looked at often", ([, file]) => {
    const { seen, clock } = watched(file);
    if (file !== null) rmSync(file);
    clock.advance(PAUSE_MS);
    seen.version += 1;
    clock.advance(OFTEN_MS);
    expect(seen.changes).toBe(1);
  });
});

test("once stopped it looks no more; started again it tells of what comes then", () => {
  const { seen, lookout, clock } = watched();
  lookout.stop();
  const { looks } = seen;
  seen.version += 1;
  clock.advance(PAUSE_MS);
  expect(seen.looks).toBe(looks);
  lookout.start();
  seen.version += 1;
  clock.advance(OFTEN_MS);
  expect(seen.changes).toBe(1);
});

test("whoever is told may stop it", () => {
  const clock = new FrozenClock();
  let version = 1;
  let told = 0;
  const lookout: Lookout = new Lookout({
    look: () => version,
    file: () => null,
    changed: () => {
      lookout.stop();
      told += 1;
    },
    clock,
  });
  lookout.start();
  version += 1;
  clock.advance(OFTEN_MS);
  version += 1;
  clock.advance(PAUSE_MS);
  expect(told).toBe(1);
});
