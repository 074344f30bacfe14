import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  checkSoak,
  FAULT_KINDS,
  History,
  parseFlags,
  Recorder,
  readRecords,
  type SoakEnd,
  type SoakRecord,
  schedule,
  trendOf,
} from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";

/** A store's history told call by call, at a time that goes on by 10 µs between any two points. */
class Telling {
  readonly records: SoakRecord[] = [];
  at = 0;
  #calls = 0;

  tick(): number {
    this.at += 10;
    return this.at;
  }

  grant(sequence: number, token: number, { attempt = 1, leasedAtMs = 1_000, expiresAtMs = 2_000 } = {}): this {
    const call = this.#asked(true, []);
    const claim = { partition: 0, token, sequences: [sequence], attempt, leasedAtMs, expiresAtMs };
    this.records.push({ kind: "answered", call, at: this.tick(), settled: [], grants: [claim], died: [] });
    return this;
  }

  handle(sequence: number, token: number): this {
    this.records.push({ kind: "handled", group: "g", partition: 0, sequence, token });
    return this;
  }

  settle(
    sequence: number,
    token: number,
    state: "acked" | "dead" | "retrying" | "pending" | "stale:reclaimed" | "stale:settled" | "stale:reset",
    { outcome = "ack", delayMs = 0, wallMs = 1_000 } = {},
  ): this {
    const call = this.#asked(false, [{ partition: 0, token, sequences: [sequence], outcome, delayMs }], wallMs);
    this.records.push({ kind: "answered", call, at: this.tick(), settled: [[state]], grants: [], died: [] });
    return this;
  }

  /** A settle whose answer never came. */
  settleUnanswered(sequence: number, token: number, outcome = "ack"): this {
    this.#asked(false, [{ partition: 0, token, sequences: [sequence], outcome, delayMs: 0 }]);
    return this;
  }

  renew(sequence: number, token: number, result: number | "reclaimed" | "settled"): this {
    const askedAt = this.tick();
    const items = [{ partition: 0, token, sequences: [sequence], expiresAtMs: [result] }];
    this.records.push({ kind: "renewed", askedAt, at: this.tick(), group: "g", items });
    return this;
  }

  fetchUnanswered(): this {
    this.#asked(true, []);
    return this;
  }

  /** All that is usual: granted, handled, acked. */
  done(sequence: number, token: number): this {
    return this.grant(sequence, token).handle(sequence, token).settle(sequence, token, "acked");
  }

  check(end: Partial<SoakEnd> = {}, events = 1): string[] {
    const appended = Array.from({ length: events }, (_, index) => ({
      partition: 0,
      sequence: index + 1,
      key: "k",
      rejects: false,
    }));
    const whole = {
      lag: { g: 0 },
      leases: { g: 0 },
      highWatermarks: [events],
      appended,
      deadLetters: { g: [] },
      frontiers: [],
      ...end,
    };
    return checkSoak(History.from(this.records), whole, { groups: ["g"], ordered: ["g"], maxAttempts: 3 });
  }

  #asked(fetches: boolean, settlements: Extract<SoakRecord, { kind: "asked" }>["settlements"], wallMs = 1_000): string {
    const call = `c${++this.#calls}`;
    this.records.push({ kind: "asked", call, at: this.tick(), wallMs, group: "g", fetches, settlements });
    return call;
  }
}

const told = (): Telling => new Telling();

describe("the checker finds no fault with", () => {
  test.for<readonly [string, () => string[]]>([
    ["an event that is leased, handled and acked", () => told().done(1, 1).check()],
    [
      "a takeover after the expiry, and a late ack that is refused",
      () =>
        told()
          .grant(1, 1)
          .grant(1, 2, { attempt: 2, leasedAtMs: 2_000, expiresAtMs: 3_000 })
          .settle(1, 1, "stale:reclaimed")
          .handle(1, 2)
          .settle(1, 2, "acked")
          .check(),
    ],
    [
      "an ack whose answer was lost, repeated, and answered as settled",
      () => told().grant(1, 1).handle(1, 1).settleUnanswered(1, 1).settle(1, 1, "stale:settled").check(),
    ],
    [
      "an ack whose answer never came, by a process that was killed",
      () => told().grant(1, 1).handle(1, 1).settleUnanswered(1, 1).check(),
    ],
    [
      "a refusal that a fetch whose answer never came may explain",
      () =>
        told()
          .grant(1, 1)
          .fetchUnanswered()
          .settle(1, 1, "stale:reclaimed")
          .grant(1, 3, { attempt: 3, leasedAtMs: 3_000, expiresAtMs: 4_000 })
          .handle(1, 3)
          .settle(1, 3, "acked")
          .check(),
    ],
    [
      "a lease that was renewed, taken over when that was over too",
      () =>
        told()
          .grant(1, 1)
          .renew(1, 1, 5_000)
          .grant(1, 2, { attempt: 2, leasedAtMs: 5_000, expiresAtMs: 6_000 })
          .renew(1, 1, "reclaimed")
          .handle(1, 2)
          .settle(1, 2, "acked")
          .check(),
    ],
    [
      "a release, and a retry after its delay",
      () =>
        told()
          .grant(1, 1)
          .settle(1, 1, "pending", { outcome: "release" })
          .grant(1, 2)
          .settle(1, 2, "retrying", { outcome: "retry", delayMs: 50, wallMs: 1_100 })
          .grant(1, 3, { attempt: 2, leasedAtMs: 1_150 })
          .handle(1, 3)
          .settle(1, 3, "acked")
          .check(),
    ],
    [
      "a frontier that follows the acks",
      () => {
        const telling = told();
        const frontier = (sequence: number): SoakEnd["frontiers"][number] => ({
          group: "g",
          from: telling.tick(),
          to: telling.tick(),
          frontier: [sequence],
        });
        const frontiers = [frontier(0)];
        telling.done(1, 1);
        frontiers.push(frontier(1));
        telling.done(2, 2);
        frontiers.push(frontier(2));
        return telling.check({ frontiers }, 2);
      },
    ],
  ])("%s", ([, check]) => {
    expect(check()).toEqual([]);
  });
});

describe("the checker finds", () => {
  test.for<readonly [string, () => string[], RegExp]>([
    ["an event that nobody settled", () => told().grant(1, 1).check(), /lost: nobody settled it/],
    ["an event that was never offered", () => told().check(), /lost: nobody settled it/],
    [
      "a second lease while the first was live",
      () => told().grant(1, 1).grant(1, 2, { attempt: 2, leasedAtMs: 1_900 }).handle(1, 2).settle(1, 2, "acked").check(),
      /leased under 2 at 1900, while 1 was live until 2000/,
    ],
    [
      "a second lease while a renewed one was live",
      () =>
        told()
          .grant(1, 1)
          .renew(1, 1, 5_000)
          .grant(1, 2, { attempt: 2, leasedAtMs: 3_000, expiresAtMs: 4_000 })
          .handle(1, 2)
          .settle(1, 2, "acked")
          .check(),
      /while 1 was live until 5000/,
    ],
    [
      "a settle under a lost lease that was accepted",
      () =>
        told()
          .grant(1, 1)
          .grant(1, 2, { attempt: 2, leasedAtMs: 2_000, expiresAtMs: 3_000 })
          .handle(1, 1)
          .settle(1, 1, "acked")
          .check(),
      /a stale settle under 1 was accepted/,
    ],
    [
      "a renewal of a lost lease that was accepted",
      () =>
        told()
          .grant(1, 1)
          .grant(1, 2, { attempt: 2, leasedAtMs: 2_000, expiresAtMs: 3_000 })
          .renew(1, 1, 9_000)
          .handle(1, 2)
          .settle(1, 2, "acked")
          .check(),
      /a stale renewal under 1 was accepted/,
    ],
    [
      "an event that was leased again after its ack",
      () => told().done(1, 1).grant(1, 2, { attempt: 2, leasedAtMs: 3_000 }).check(),
      /finished under 1 and leased again under 2/,
    ],
    ["an event that was acked twice", () => told().done(1, 1).settle(1, 1, "acked").check(), /finished 2 times/],
    [
      "an event that was acked without having been handled",
      () => told().grant(1, 1).settle(1, 1, "acked").check(),
      /without having been handled/,
    ],
    [
      "a token that was given out twice",
      () => told().grant(1, 1).settle(1, 1, "pending", { outcome: "release" }).done(1, 1).check(),
      /leased twice under token 1/,
    ],
    [
      "tokens that fall",
      () => told().grant(1, 2).settle(1, 2, "pending", { outcome: "release" }).done(1, 1).check(),
      /token 2 was granted before token 1|finished under 1 and leased again/,
    ],
    [
      "a settle that was refused though the lease was current",
      () => told().grant(1, 1).settle(1, 1, "stale:reclaimed").handle(1, 1).settle(1, 1, "acked").check(),
      /refused as reclaimed, though nothing says so/,
    ],
    [
      "a settle that was refused as settled though nobody had settled",
      () => told().grant(1, 1).settle(1, 1, "stale:settled").handle(1, 1).settle(1, 1, "acked").check(),
      /refused as settled, though nothing says so/,
    ],
    [
      "a renewal that was refused though the lease was current",
      () => told().grant(1, 1).renew(1, 1, "reclaimed").handle(1, 1).settle(1, 1, "acked").check(),
      /a renewal under 1 was refused as reclaimed/,
    ],
    ["a reset that nobody asked for", () => told().done(1, 1).settle(1, 1, "stale:reset").check(), /refused as reset/],
    [
      "a settle under a token that nobody has",
      () => told().done(1, 1).settle(1, 7, "stale:settled").check(),
      /token 7, which nobody was granted/,
    ],
    [
      "a retry that was leased before its delay was over",
      () =>
        told()
          .grant(1, 1)
          .settle(1, 1, "retrying", { outcome: "retry", delayMs: 500, wallMs: 1_000 })
          .grant(1, 2, { attempt: 2, leasedAtMs: 1_400 })
          .handle(1, 2)
          .settle(1, 2, "acked")
          .check(),
      /before the delay of 500 ms was over/,
    ],
    [
      "too many attempts",
      () => told().grant(1, 1, { attempt: 4 }).handle(1, 1).settle(1, 1, "acked").check(),
      /started as attempt 4/,
    ],
    [
      "a group that did not drain",
      () =>
        told()
          .done(1, 1)
          .check({ lag: { g: 3 } }),
      /did not drain: lag 3/,
    ],
    [
      "a lease that was left",
      () =>
        told()
          .done(1, 1)
          .check({ leases: { g: 2 } }),
      /holds 2 leases after its end/,
    ],
    [
      "an event that is gone from the log",
      () =>
        told()
          .done(1, 1)
          .check({ highWatermarks: [0] }),
      /the event 0@1 is gone/,
    ],
    [
      "an event that nobody appended",
      () =>
        told()
          .done(1, 1)
          .check({ highWatermarks: [2] }),
      /has 2 events, 1 were appended/,
    ],
    [
      "a dead letter that was not asked for",
      () =>
        told()
          .done(1, 1)
          .check({ deadLetters: { g: [{ partition: 0, sequence: 1 }] } }),
      /a dead letter that it did not ask for/,
    ],
    [
      "a rejected event without a dead letter",
      () =>
        told()
          .grant(1, 1)
          .handle(1, 1)
          .settle(1, 1, "dead", { outcome: "reject" })
          .check({ appended: [{ partition: 0, sequence: 1, key: "k", rejects: true }] }),
      /rejected, and no dead letter/,
    ],
    [
      "an event that was rejected though it did not ask for it",
      () => told().grant(1, 1).handle(1, 1).settle(1, 1, "dead", { outcome: "reject" }).check(),
      /ended by reject/,
    ],
    [
      "a frontier over a hole",
      () => {
        const telling = told().done(2, 1);
        const frontiers = [{ group: "g", from: telling.tick(), to: telling.tick(), frontier: [2] }];
        return telling.done(1, 2).check({ frontiers }, 2);
      },
      /the frontier of g\/0 was 2, over something that was not settled/,
    ],
    [
      "a frontier that goes back",
      () => {
        const telling = told().done(1, 1).done(2, 2);
        const frontiers = [2, 1].map((frontier) => ({
          group: "g",
          from: telling.tick(),
          to: telling.tick(),
          frontier: [frontier],
        }));
        return telling.check({ frontiers }, 2);
      },
      /went back from 2 to 1/,
    ],
    [
      "an event that was leased before the earlier one of its key was finished",
      () => told().grant(1, 1).done(2, 2).handle(1, 1).settle(1, 1, "acked").check({}, 2),
      /leased before 0@1, the earlier event of its key, was finished/,
    ],
  ])("%s", ([, check, fault]) => {
    expect(check()).toContainEqual(expect.stringMatching(fault));
  });
});

describe("the records", () => {
  test("are read as they were written, but for a last line that a kill cut off", () => {
    const folder = mkdtempSync(join(tmpdir(), "rheo-records-"));
    try {
      const record: SoakRecord = { kind: "handled", group: "g", partition: 0, sequence: 1, token: 2 };
      new Recorder(folder, "one").write(record);
      writeFileSync(join(folder, "two.jsonl"), `${JSON.stringify(record)}\n{"kind":"handl`);
      expect([...readRecords(folder)]).toEqual([record, record]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("with an answer that has no question are refused as damaged", () => {
    const record: SoakRecord = { kind: "answered", call: "c1", at: 1, settled: [], grants: [], died: [] };
    expect(() => History.from([record])).toThrow(/has no question/);
  });
});

describe("the schedule", () => {
  const options = { seed: 5, durationMs: 20_000, pace: 1, leaseMs: 1_500, hangMs: 4_000, kinds: FAULT_KINDS };

  test("is the same for the same seed, another for another, and in the order of its times", () => {
    const faults = schedule(options);
    expect(schedule(options)).toEqual(faults);
    expect(schedule({ ...options, seed: 6 })).not.toEqual(faults);
    expect(faults.map(({ atMs }) => atMs)).toEqual(faults.map(({ atMs }) => atMs).sort((a, b) => a - b));
  });

  test("has every kind of fault even in a short run", () => {
    for (let seed = 1; seed <= 50; seed++)
      expect(new Set(schedule({ ...options, seed }).map(({ kind }) => kind)).size).toBe(FAULT_KINDS.length);
  });

  test("has what is left of the same when kinds are switched off", () => {
    const kinds = ["kill", "cut"] as const;
    expect(schedule({ ...options, kinds })).toEqual(schedule(options).filter(({ kind }) => kind === "kill" || kind === "cut"));
  });

  test("has more faults at a higher pace", () => {
    const long = { ...options, durationMs: 600_000 };
    expect(schedule({ ...long, pace: 3 }).length).toBeGreaterThan(2 * schedule(long).length);
  });
});

test("the trend of memory compares the medians of the first and the last quarter", () => {
  expect(trendOf([10, 12, 11, 90, 20, 20, 20, 20, 14, 15, 13, 16])).toEqual({
    samples: 12,
    firstMiB: 11,
    lastMiB: 15,
    maxMiB: 90,
  });
});

describe("the command line of a soak", () => {
  const rheo = ["--rheo", "main.js"];

  test("has defaults, and takes minutes or seconds", () => {
    expect(parseFlags(rheo)).toMatchObject({ store: "sqlite", durationMs: 60_000, processes: 4, pace: 1, perSecond: 100 });
    expect(parseFlags([...rheo, "--seconds", "20", "--seed", "9"])).toMatchObject({ durationMs: 20_000, seed: 9 });
  });

  test.for<readonly [string, readonly string[], RegExp]>([
    ["an unknown option", ["--sede", "1"], /Unknown option '--sede'/],
    ["a value out of range", ["--processes", "1"], /--processes is a number from 2 to 64/],
    ["a fault that there is not", ["--faults", "kill,rain"], /--faults takes some of kill, .*; got "rain"/],
    ["no number", ["--minutes", "long"], /--minutes is a number/],
  ])("refuses %s", ([, args, message]) => {
    expect(() => parseFlags([...rheo, ...args])).toThrow(message);
  });
});
