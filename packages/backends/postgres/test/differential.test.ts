/**
 * The functions in the database do what the arithmetic in core does: random calls of the port, on this backend and on SQLite, which runs that
 * arithmetic itself, with the same answers at every step.
 */
import {
  type Backend,
  FrozenClock,
  type Grant,
  type ResolvedGroupOptions,
  RheoError,
  type Settlement,
  type SettleOutcome,
} from "@rheo/core";
import { sqlite } from "@rheo/sqlite";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll, describe, expect, test } from "vitest";
import { event, GROUP, OPTIONS, STREAM } from "./fixtures/scene.ts";
import { openStore } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
afterAll(() => server.stop());

const RUNS = 60;
const STEPS = 90;
const LEASE_MS = 1_000;

/** Mulberry32: small, and the same everywhere. */
const randomOf = (seed: number): ((below: number) => number) => {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
};

type Call = (backend: Backend) => Promise<unknown>;

const outcomeOf = (draw: (below: number) => number): SettleOutcome => {
  switch (draw(6)) {
    case 0:
      return { kind: "retry", delayMs: draw(3) * 400, reason: "busy", stack: null };
    case 1:
      return { kind: "reject", reason: "bad", stack: "at x" };
    case 2:
      return { kind: "release" };
    default:
      return { kind: "ack" };
  }
};

const FILTERS = [{ "payload.n": { gte: 2 } }, { or: [{ key: "k1" }, { "payload.n": { in: [0, 3] } }] }] as const;

class Game {
  readonly clock = new FrozenClock();
  readonly partitions: number;
  readonly options: ResolvedGroupOptions;
  readonly #draw: (below: number) => number;
  #grants: Grant[] = [];

  constructor(seed: number) {
    this.#draw = randomOf(seed);
    this.partitions = 1 + this.#draw(3);
    this.options = {
      ...OPTIONS,
      leaseMs: LEASE_MS,
      maxAttempts: 1 + this.#draw(4),
      ordering: (["none", "none", "key", "partition"] as const)[this.#draw(4)] ?? "none",
      filter: this.#draw(4) === 0 ? (FILTERS[this.#draw(2)] ?? null) : null,
      maxInflight: this.#draw(5) === 0 ? 3 + this.#draw(8) : null,
    };
  }

  note(grants: readonly Grant[]): void {
    this.#grants = [...this.#grants, ...grants].slice(-30);
  }

  /** The next call, the same for both. */
  next(): Call {
    const draw = this.#draw;
    const kind = draw(100);
    if (kind < 18) return this.#append();
    if (kind < 60) return this.#exchange();
    if (kind < 68) return this.#renew();
    if (kind < 84) {
      this.clock.advance(draw(2) === 0 ? draw(400) : LEASE_MS + draw(600));
      return (backend) => backend.progress(STREAM, GROUP);
    }
    if (kind < 88) return this.#replay();
    if (kind < 92) {
      const purge = draw(4) === 0;
      const select = draw(2) === 0 ? ({ kind: "all" } as const) : ({ kind: "where", where: { "payload.n": { lt: 3 } } } as const);
      return (backend) => backend.redrive({ stream: STREAM, group: GROUP, select, purge });
    }
    if (kind < 94) {
      const start = [
        { kind: "earliest" },
        { kind: "latest" },
        { kind: "after", after: [3, 2, 1] },
        { kind: "time", timeMs: this.clock.now() - 2_000 },
      ][draw(4)];
      return (backend) => backend.reset(STREAM, GROUP, (start ?? { kind: "earliest" }) as Parameters<Backend["reset"]>[2]);
    }
    if (kind < 97) {
      const cut = [
        { kind: "keep", last: draw(20) },
        { kind: "sequence", before: 1 + draw(30) },
        { kind: "time", beforeMs: this.clock.now() - 3_000 },
      ][draw(3)];
      const [force, dryRun] = [draw(2) === 0, draw(4) === 0];
      return (backend) =>
        backend.trim({ stream: STREAM, cut: cut as Parameters<Backend["trim"]>[0]["cut"], partitions: null, force, dryRun });
    }
    const paused = draw(3) === 0;
    const maxAttempts = 1 + draw(5);
    return (backend) => backend.updateGroup(STREAM, GROUP, { paused, options: { ...this.options, maxAttempts } });
  }

  #append(): Call {
    const draw = this.#draw;
    const events = Array.from({ length: 1 + draw(6) }, () => {
      const key = [null, "k1", "k2", "k3"][draw(4)] ?? null;
      const timestampMs = draw(4) === 0 ? this.clock.now() - draw(5_000) : null;
      return { ...event({ n: draw(5) }, draw(this.partitions)), key, timestampMs };
    });
    return (backend) => backend.append([{ stream: STREAM, partitions: this.partitions, events }]);
  }

  #exchange(): Call {
    const draw = this.#draw;
    const settlements: Settlement[] = [];
    for (let n = draw(4); n > 0; n--) settlements.push(...this.#settlement());
    const limit = [1, 2, 3, 5, 20][draw(5)] ?? 1;
    const partitions = draw(6) === 0 ? [draw(this.partitions)] : null;
    const maxBytes = 1_000_000;
    const [consumerId, runLimit] = [["a", "b", "c"][draw(3)] ?? "a", [1, 1, 2, 3, 20][draw(5)] ?? 1];
    const fetch = draw(6) === 0 ? null : { limit, maxBytes, consumerId, leaseMs: null, partitions, runLimit };
    return (backend) => backend.exchange({ stream: STREAM, group: GROUP, settlements, fetch });
  }

  #settlement(): Settlement[] {
    const grant = this.#grants[this.#draw(Math.max(1, this.#grants.length))];
    if (grant === undefined) return [];
    const all = grant.events.map(({ sequence }) => sequence);
    const sequences = this.#draw(2) === 0 ? all : all.filter(() => this.#draw(2) === 0);
    return sequences.length === 0
      ? []
      : [{ partition: grant.partition, token: grant.token, sequences, outcome: outcomeOf(this.#draw) }];
  }

  #renew(): Call {
    const items = [...this.#settlement(), ...this.#settlement()].map(({ partition, token, sequences }) => ({
      partition,
      token,
      sequences,
    }));
    const leaseMs = this.#draw(2) === 0 ? null : 100 + this.#draw(2_000);
    return (backend) => backend.renew({ stream: STREAM, group: GROUP, consumerId: "a", items, leaseMs });
  }

  #replay(): Call {
    const draw = this.#draw;
    const partitions = draw(2) === 0 ? null : [0];
    const whole = Array.from({ length: this.partitions }, (_, partition) => partition);
    const query = {
      filter: draw(2) === 0 ? null : FILTERS[1],
      partitions: whole,
      fromMs: draw(3) === 0 ? this.clock.now() - 4_000 : null,
      toMs: null,
      after: whole.map(() => draw(6)),
      until: whole.map(() => 4 + draw(20)),
      order: "asc",
      limit: 100,
    } as const;
    const scope = [
      { kind: "after", after: draw(12) } as const,
      { kind: "time", timeMs: this.clock.now() - draw(5_000) } as const,
      { kind: "query", query } as const,
    ][draw(3)];
    const dryRun = draw(4) === 0;
    return (backend) =>
      backend.replay({ stream: STREAM, group: GROUP, scope: scope ?? { kind: "after", after: 0 }, partitions, dryRun });
  }
}

/** What came of a call, in a form that can be compared: text of JSON may be spaced in another way. */
const outcome = async (backend: Backend, call: Call): Promise<unknown> => {
  try {
    return plain(await call(backend));
  } catch (error) {
    if (RheoError.is(error) && error.code !== "unavailable" && error.code !== "outcome_unknown") return { code: error.code };
    throw error;
  }
};

const plain = (answer: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answer, (name, value: unknown) => {
      if ((name === "payload" || name === "metadata") && typeof value === "string") return JSON.parse(value) as unknown;
      return name === "event" || name === "bytes" || name === "kept" ? undefined : value;
    }) ?? "null",
  );

const LOOKS: readonly Call[] = [
  (backend) => backend.progress(STREAM, GROUP),
  async (backend) => {
    const { members, ...stats } = await backend.groupStats(STREAM, GROUP);
    // a member's last visit is written at most once a second
    const holding = members.filter(({ leases }) => leases > 0).map(({ consumerId, leases }) => `${consumerId}: ${leases}`);
    return { ...stats, members: holding.sort((a, b) => (a < b ? -1 : 1)) };
  },
  (backend) => backend.holders(STREAM, GROUP),
  (backend) => backend.leases(STREAM, GROUP, 1_000),
  (backend) => backend.deadLetters({ stream: STREAM, group: GROUP, limit: 1_000, after: null, where: null }),
];

const play = async (seed: number): Promise<number> => {
  const game = new Game(seed);
  const store = openStore(server.url);
  const [ours, reference] = [store.backend, sqlite({ file: ":memory:" })];
  const context = { clock: game.clock, migrate: true };
  let granted = 0;
  try {
    for (const backend of [ours, reference]) {
      await backend.open(context);
      await backend.createStream(STREAM, game.partitions);
      await backend.createGroup(STREAM, GROUP, game.options, { kind: "earliest" });
    }
    for (let step = 0; step < STEPS; step++) {
      const call = game.next();
      const expected = await outcome(reference, call);
      expect(await outcome(ours, call), `seed ${seed}, step ${step}, ${String(call)}: ${JSON.stringify(game.options)}`).toEqual(
        expected,
      );
      const grants =
        typeof expected === "object" && expected !== null && "grants" in expected ? (expected.grants as Grant[]) : [];
      game.note(grants);
      granted += grants.length;
      if (step % 3 !== 0) continue;
      for (const look of LOOKS)
        expect(await outcome(ours, look), `seed ${seed}, after step ${step}: ${String(look)}`).toEqual(
          await outcome(reference, look),
        );
    }
  } finally {
    for (const backend of [ours, reference]) await backend.close();
    await store.dispose?.();
  }
  return granted;
};

describe("the functions in the database", () => {
  test(`answer ${RUNS} games of ${STEPS} random calls as SQLite does`, { timeout: 300_000 }, async () => {
    const first = Number(process.env.RHEO_SEED ?? 1);
    const runs = RUNS * Number(process.env.RHEO_RUNS ?? 1);
    let granted = 0;
    for (let seed = first; seed < first + runs; seed++) granted += await play(seed);
    expect(granted).toBeGreaterThan(runs * 5);
  });
});
