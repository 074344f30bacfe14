import {
  countReady,
  DEFAULT_RESTART,
  FAN_OUT_MS,
  type FleetEffect,
  type FleetMessage,
  type FleetSettings,
  type FleetState,
  FORCE_GRACE_MS,
  fleetTransition,
  GRACE_MS,
  hasStarted,
  initialFleet,
  nextDueAtMs,
  type Untimed,
} from "@rheo/runtime/internal";
import { describe, expect, test } from "vitest";

const SETTINGS: FleetSettings = {
  processes: 3,
  policy: { ...DEFAULT_RESTART, maxRestarts: 2, withinMs: 60_000, minMs: 100, maxMs: 1_000, jitter: 0 },
  beatMs: 1_000,
  hangMs: 5_000,
  startMs: 30_000,
  stopTimeoutMs: null,
};

/** A fleet that is told things at times of its own. */
class Fleet {
  state: FleetState;
  atMs = 0;
  readonly effects: FleetEffect[] = [];

  constructor(settings: Partial<FleetSettings> = {}) {
    this.state = initialFleet({ ...SETTINGS, ...settings }, 0);
  }

  tell(message: Untimed): readonly FleetEffect[] {
    const [state, effects] = fleetTransition(this.state, { ...message, atMs: this.atMs } as FleetMessage);
    this.state = state;
    this.effects.push(...effects);
    return effects;
  }

  /** Lets time pass as a parent does: it looks whenever something is due, and its processes give signs of life. */
  pass(ms: number, silent: readonly number[] = []): readonly FleetEffect[] {
    const endMs = this.atMs + ms;
    const seen: FleetEffect[] = [];
    while (nextDueAtMs(this.state) <= endMs && this.state.phase !== "drained") {
      this.atMs = Math.max(this.atMs, nextDueAtMs(this.state));
      for (const serial of this.serials()) if (!silent.includes(serial)) this.tell({ type: "beat", serial });
      seen.push(...this.tell({ type: "tick" }));
    }
    this.atMs = endMs;
    return seen;
  }

  serials(): number[] {
    return this.state.places.flatMap(({ processes }) => processes.map(({ serial }) => serial));
  }

  exit(serial: number, isDrained = false): readonly FleetEffect[] {
    return this.tell({ type: "exited", serial, how: "It exited with code 1.", isDrained, random: 0 });
  }

  /** All processes running. */
  static running(settings: Partial<FleetSettings> = {}): Fleet {
    const fleet = new Fleet(settings);
    fleet.tell({ type: "start" });
    fleet.tell({ type: "configured", serial: 1, stopTimeoutMs: 2_000 });
    for (const serial of fleet.serials()) fleet.tell({ type: "ready", serial });
    fleet.effects.length = 0;
    return fleet;
  }
}

const of = <Type extends FleetEffect["type"]>(
  effects: readonly FleetEffect[],
  type: Type,
): Extract<FleetEffect, { type: Type }>[] =>
  effects.filter((effect): effect is Extract<FleetEffect, { type: Type }> => effect.type === type);

const told = (effects: readonly FleetEffect[]): string[] => of(effects, "tell").map(({ event }) => event.type);

describe("the start", () => {
  test("the first process reads the config; the others follow once it has found no fault", () => {
    const fleet = new Fleet();
    expect(of(fleet.tell({ type: "start" }), "spawn")).toEqual([{ type: "spawn", place: 0, serial: 1 }]);
    const effects = fleet.tell({ type: "configured", serial: 1, stopTimeoutMs: null });
    expect(of(effects, "spawn").map(({ place }) => place)).toEqual([1, 2]);
  });

  test("is over when every place is ready", () => {
    const fleet = new Fleet();
    fleet.tell({ type: "start" });
    fleet.tell({ type: "configured", serial: 1, stopTimeoutMs: null });
    for (const serial of [1, 2]) fleet.tell({ type: "ready", serial });
    expect(hasStarted(fleet.state)).toBe(false);
    fleet.tell({ type: "ready", serial: 3 });
    expect([hasStarted(fleet.state), fleet.state.phase]).toEqual([true, "running"]);
  });

  test("a config that the first process refuses ends it before any other is started", () => {
    const fleet = new Fleet();
    fleet.tell({ type: "start" });
    fleet.tell({ type: "refused", serial: 1, reason: "no store" });
    const effects = fleet.exit(1);
    expect([of(effects, "finish").length, fleet.state.refusal, fleet.state.started]).toEqual([1, "no store", 1]);
  });

  test("a first process that dies is started again before the others are started", () => {
    const fleet = new Fleet();
    fleet.tell({ type: "start" });
    fleet.exit(1);
    expect(of(fleet.pass(100), "spawn")).toEqual([{ type: "spawn", place: 0, serial: 2 }]);
    expect(hasStarted(fleet.state)).toBe(true);
  });

  test("a process that makes no progress in its start is killed and started again", () => {
    const fleet = new Fleet({ processes: 1 });
    fleet.tell({ type: "start" });
    expect(of(fleet.pass(29_999), "kill")).toEqual([]);
    expect(of(fleet.pass(1), "kill")).toEqual([{ type: "kill", serial: 1 }]);
    expect(told(fleet.exit(1))).toEqual(["child.failed", "child.restarting"]);
  });

  test("having read the config is progress", () => {
    const fleet = new Fleet({ processes: 1 });
    fleet.tell({ type: "start" });
    fleet.pass(20_000);
    fleet.tell({ type: "configured", serial: 1, stopTimeoutMs: null });
    expect(of(fleet.pass(29_999), "kill")).toEqual([]);
    expect(of(fleet.pass(1), "kill")).toEqual([{ type: "kill", serial: 1 }]);
  });

  test("a process that waits for the store has all the time in the world", () => {
    const fleet = new Fleet({ processes: 1 });
    fleet.tell({ type: "start" });
    for (let turn = 0; turn < 20; turn++) {
      fleet.tell({ type: "waiting", serial: 1, reason: "the store is away" });
      expect(of(fleet.pass(5_000), "kill")).toEqual([]);
    }
    expect(hasStarted(fleet.state)).toBe(true);
  });
});

describe("a process that fails", () => {
  test("is started again after a wait that doubles", () => {
    const fleet = Fleet.running({ processes: 1 });
    fleet.exit(1);
    expect(of(fleet.pass(99), "spawn")).toEqual([]);
    expect(of(fleet.pass(1), "spawn").length).toBe(1);
    fleet.exit(2);
    expect(of(fleet.pass(199), "spawn")).toEqual([]);
    expect(of(fleet.pass(1), "spawn").length).toBe(1);
  });

  test("B45 an exit with code 0 that nobody asked for is a failure too", () => {
    const fleet = Fleet.running();
    expect(told(fleet.exit(2, true))).toEqual(["child.failed", "child.restarting"]);
  });

  test("too often is given up, and the others go on", () => {
    const fleet = Fleet.running();
    for (const serial of [2, 4, 5]) {
      fleet.exit(serial);
      fleet.pass(1_000);
    }
    expect(told(fleet.effects).at(-1)).toBe("supervisor.escalated");
    expect([fleet.state.failure, fleet.serials(), fleet.state.started]).toEqual(["It exited with code 1.", [1, 3], 5]);
  });

  test("is counted by place: two places may fail as often as one", () => {
    const fleet = Fleet.running();
    for (const serial of [1, 2]) fleet.exit(serial);
    fleet.pass(100);
    for (const serial of [4, 5]) fleet.exit(serial);
    fleet.pass(1_000);
    expect([fleet.state.failure, fleet.serials().length]).toEqual([null, 3]);
  });

  test("is told with its own last words rather than its exit code", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "failed", serial: 2, reason: "orders/risk was given up" });
    fleet.exit(2);
    expect(fleet.state.places[1]?.lastError).toBe("orders/risk was given up");
  });
});

describe("a process that hangs", () => {
  test("is killed when it has been silent for the limit, not before, and is replaced", () => {
    const fleet = Fleet.running();
    fleet.pass(3_000);
    expect(of(fleet.pass(4_999, [2]), "kill")).toEqual([]);
    const effects = fleet.pass(1_001, [2]);
    expect([told(effects), of(effects, "kill")]).toEqual([["child.unresponsive"], [{ type: "kill", serial: 2 }]]);
    fleet.exit(2);
    expect(of(fleet.pass(100), "spawn")).toEqual([{ type: "spawn", place: 1, serial: 4 }]);
  });

  test("is killed once", () => {
    const fleet = Fleet.running();
    expect(of(fleet.pass(60_000, [2]), "kill").length).toBe(1);
  });

  test("also while it drains", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "drain", timeoutMs: 60_000 });
    expect(of(fleet.pass(6_000, [3]), "kill")).toEqual([{ type: "kill", serial: 3 }]);
  });

  test("a parent that was stopped itself kills nobody for what it did not hear", () => {
    const fleet = Fleet.running();
    fleet.pass(2_000);
    fleet.atMs += 3_600_000;
    expect(of(fleet.tell({ type: "tick" }), "kill")).toEqual([]);
    expect(of(fleet.pass(60_000), "kill")).toEqual([]);
    expect(of(fleet.pass(6_000, [1]), "kill")).toEqual([{ type: "kill", serial: 1 }]);
  });
});

describe("a rolling restart", () => {
  /** Takes each step as the processes would, and notes how many are ready on the way. */
  const roll = (fleet: Fleet): { order: string[]; leastReady: number; mostProcesses: number } => {
    const order: string[] = [];
    let leastReady = 3;
    let mostProcesses = 0;
    let effects = fleet.tell({ type: "restart" });
    for (let guard = 0; effects.length > 0 && guard < 100; guard++) {
      const next: FleetEffect[] = [];
      for (const effect of effects) {
        mostProcesses = Math.max(mostProcesses, fleet.serials().length);
        if (effect.type === "spawn") {
          order.push(`start ${effect.place}`);
          next.push(...fleet.tell({ type: "ready", serial: effect.serial }));
        }
        if (effect.type === "drain") {
          order.push(`drain ${effect.serial}`);
          next.push(...fleet.exit(effect.serial, true));
        }
        leastReady = Math.min(leastReady, countReady(fleet.state));
      }
      effects = next;
    }
    return { order, leastReady, mostProcesses };
  };

  test("replaces one after another, new before old, with never one less and never two more", () => {
    const fleet = Fleet.running();
    expect(roll(fleet)).toEqual({
      order: ["start 0", "drain 1", "start 1", "drain 2", "start 2", "drain 3"],
      leastReady: 3,
      mostProcesses: 4,
    });
    expect([fleet.state.roll, fleet.serials(), told(fleet.effects).at(-1)]).toEqual([null, [4, 5, 6], "restart.finished"]);
  });

  test("counts no restart against the intensity", () => {
    const fleet = Fleet.running();
    for (let turn = 0; turn < 10; turn++) roll(fleet);
    expect(fleet.state.places.map(({ history }) => history.restarts)).toEqual([0, 0, 0]);
  });

  test("ends when a new process dies before it is ready, and the old ones stay", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "restart" });
    fleet.tell({ type: "refused", serial: 4, reason: "the config is broken" });
    expect(told(fleet.exit(4))).toEqual(["child.failed", "restart.abandoned"]);
    fleet.pass(60_000);
    expect([fleet.state.roll, fleet.serials(), countReady(fleet.state)]).toEqual([null, [1, 2, 3], 3]);
  });

  test("ends when a new process waits for a store that the old ones still reach", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "restart" });
    for (let turn = 0; turn < 7; turn++) {
      fleet.tell({ type: "waiting", serial: 4, reason: "away" });
      fleet.pass(5_000);
    }
    expect([told(fleet.effects).includes("restart.abandoned"), countReady(fleet.state)]).toEqual([true, 3]);
  });

  test("a second one, while it is under way, replaces all once more", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "restart" });
    expect(roll(fleet).order.length).toBe(0); // the step under way goes first
    fleet.tell({ type: "ready", serial: 4 });
    let effects = fleet.exit(1, true);
    const started: number[] = [];
    for (let guard = 0; guard < 50 && effects.length > 0; guard++) {
      const next: FleetEffect[] = [];
      for (const effect of effects) {
        if (effect.type === "spawn") {
          started.push(effect.place);
          next.push(...fleet.tell({ type: "ready", serial: effect.serial }));
        }
        if (effect.type === "drain") next.push(...fleet.exit(effect.serial, true));
      }
      effects = next;
    }
    expect(started).toEqual([0, 1, 2]);
  });

  test("the old process may crash while the new one starts: the new one is its replacement", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "restart" });
    expect(of(fleet.exit(1), "spawn")).toEqual([]);
    expect(fleet.state.places[0]?.restartAtMs).toBeNull();
    expect(of(fleet.tell({ type: "ready", serial: 4 }), "spawn")).toEqual([{ type: "spawn", place: 1, serial: 5 }]);
  });

  test("an old process that does not end is killed", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "restart" });
    fleet.tell({ type: "ready", serial: 4 });
    expect(of(fleet.pass(2_000 + GRACE_MS), "kill")).toEqual([{ type: "kill", serial: 1 }]);
  });

  test("a drain ends it", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "restart" });
    const effects = fleet.tell({ type: "drain", timeoutMs: null });
    expect([of(effects, "drain").map(({ serial }) => serial), fleet.state.roll]).toEqual([[1, 4, 2, 3], null]);
  });

  test("a child that somebody else asked to end is replaced in the same manner, when its parent was not asked too", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "asked", serial: 2 });
    expect(of(fleet.pass(FAN_OUT_MS - 1), "spawn")).toEqual([]);
    expect(of(fleet.pass(1), "spawn")).toEqual([{ type: "spawn", place: 1, serial: 4 }]);
  });

  test("B78 a signal to the whole group drains each process once and starts none", () => {
    const fleet = Fleet.running();
    for (const serial of [1, 2]) fleet.tell({ type: "asked", serial });
    fleet.tell({ type: "drain", timeoutMs: null });
    fleet.tell({ type: "asked", serial: 3 });
    fleet.pass(1_000);
    expect([of(fleet.effects, "drain").length, of(fleet.effects, "spawn")]).toEqual([3, []]);
  });
});

describe("a drain", () => {
  test("tells every process, waits for their end, and is clean when all had drained", () => {
    const fleet = Fleet.running();
    expect(of(fleet.tell({ type: "drain", timeoutMs: null }), "drain").map(({ timeoutMs }) => timeoutMs)).toEqual([
      2_000, 2_000, 2_000,
    ]);
    for (const serial of [1, 2]) fleet.exit(serial, true);
    expect(fleet.state.phase).toBe("draining");
    expect(of(fleet.exit(3, true), "finish").length).toBe(1);
    expect([fleet.state.phase, fleet.state.isClean]).toEqual(["drained", true]);
  });

  test("takes the time of the options before that of the config", () => {
    const fleet = Fleet.running({ stopTimeoutMs: 7_000 });
    expect(of(fleet.tell({ type: "drain", timeoutMs: null }), "drain")[0]?.timeoutMs).toBe(7_000);
  });

  test("kills what has not ended some time after the deadline, and is not clean then", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "drain", timeoutMs: 1_000 });
    fleet.exit(1, true);
    expect(of(fleet.pass(1_000 + GRACE_MS - 1), "kill")).toEqual([]);
    expect(of(fleet.pass(1), "kill").map(({ serial }) => serial)).toEqual([2, 3]);
    for (const serial of [2, 3]) fleet.exit(serial);
    expect([fleet.state.phase, fleet.state.isClean]).toEqual(["drained", false]);
    expect(of(fleet.effects, "tell").map(({ event }) => event)).toContainEqual({
      type: "child.stopped",
      child: "process-2",
      serial: 2,
      drained: false,
      reason: "It did not end in time. It exited with code 1.",
    });
  });

  test("a later one with no time at all shortens it", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "drain", timeoutMs: 60_000 });
    expect(of(fleet.tell({ type: "drain", timeoutMs: 0 }), "drain").map(({ timeoutMs }) => timeoutMs)).toEqual([0, 0, 0]);
    expect(of(fleet.pass(FORCE_GRACE_MS), "kill").length).toBe(3);
  });

  test("a later one cannot lengthen it, nor does asking again and again", () => {
    const fleet = Fleet.running();
    fleet.tell({ type: "drain", timeoutMs: 0 });
    for (let turn = 0; turn < 4; turn++) {
      fleet.pass(FORCE_GRACE_MS / 4);
      fleet.tell({ type: "drain", timeoutMs: turn * 1_000 });
    }
    expect([of(fleet.effects, "drain").length, of(fleet.effects, "kill").length]).toEqual([3, 3]);
  });

  test("is not clean when a process aborted handlers or crashed in it", () => {
    const fleet = Fleet.running({ processes: 1 });
    fleet.tell({ type: "drain", timeoutMs: null });
    fleet.exit(1, false);
    expect(fleet.state.isClean).toBe(false);
  });

  test("starts nothing any more, whatever was due", () => {
    const fleet = Fleet.running();
    fleet.exit(2);
    fleet.tell({ type: "drain", timeoutMs: null });
    expect(of(fleet.pass(6_999), "spawn")).toEqual([]);
  });

  test("before the config was read ends the one process there is", () => {
    const fleet = new Fleet();
    fleet.tell({ type: "start" });
    fleet.tell({ type: "drain", timeoutMs: null });
    fleet.tell({ type: "configured", serial: 1, stopTimeoutMs: null });
    expect([of(fleet.exit(1, true), "finish").length, fleet.state.started]).toEqual([1, 1]);
  });

  test("of nothing is over at once", () => {
    const fleet = Fleet.running({ processes: 1 });
    fleet.exit(1);
    expect(of(fleet.tell({ type: "drain", timeoutMs: null }), "finish").length).toBe(1);
  });
});

describe("whatever happens", () => {
  /** Mulberry32. */
  const seeded = (seed: number): (() => number) => {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  };
  const first = Number(process.env.RHEO_SEED ?? 1);

  /** What must hold between any two messages. */
  const check = (fleet: Fleet, alive: ReadonlySet<number>): void => {
    const { places, phase } = fleet.state;
    let doubled = 0;
    expect(new Set(fleet.serials())).toEqual(alive);
    for (const { processes, restartAtMs } of places) {
      const staying = processes.filter(({ phase: one, killed }) => one !== "leaving" && !killed);
      expect(staying.length).toBeLessThanOrEqual(2);
      if (staying.length === 2) doubled += 1;
      if (restartAtMs !== null) expect(staying).toEqual([]);
      if (phase === "draining") expect(processes.every((one) => one.phase === "leaving")).toBe(true);
    }
    expect(doubled).toBeLessThanOrEqual(1);
  };

  test.for(Array.from({ length: 40 }, (_, run) => first + run))(
    "RHEO_SEED=%i: places stay filled, and once nothing goes wrong any more all are ready",
    (seed) => {
      const random = seeded(seed);
      const fleet = new Fleet({ policy: { ...SETTINGS.policy, maxRestarts: 1_000, maxMs: 2_000 }, startMs: 4_000 });
      const alive = new Set<number>();
      const dying = new Set<number>();
      const carryOut = (effects: readonly FleetEffect[]): void => {
        for (const effect of effects) {
          if (effect.type === "spawn") alive.add(effect.serial);
          if (effect.type === "kill" || effect.type === "drain") dying.add(effect.serial);
        }
      };
      const end = (serial: number, isDrained: boolean): void => {
        alive.delete(serial);
        dying.delete(serial);
        carryOut(fleet.exit(serial, isDrained));
      };
      const pick = (): number => [...alive][Math.floor(random() * alive.size)] ?? 0;
      const live = (serial: number): void => {
        carryOut(fleet.tell({ type: "configured", serial, stopTimeoutMs: 1_000 }));
        carryOut(fleet.tell({ type: "ready", serial }));
      };
      carryOut(fleet.tell({ type: "start" }));
      for (let step = 0; step < 300; step++) {
        const drawn = random();
        if (drawn < 0.3) carryOut(fleet.pass(random() * 1_000, random() < 0.2 ? [pick()] : []));
        else if (drawn < 0.55) live(pick());
        else if (drawn < 0.65 && dying.size > 0) end([...dying][0] ?? 0, random() < 0.8);
        else if (drawn < 0.75 && alive.size > 0) end(pick(), random() < 0.1);
        else if (drawn < 0.8) carryOut(fleet.tell({ type: "restart" }));
        else if (drawn < 0.85) carryOut(fleet.tell({ type: "asked", serial: pick() }));
        else if (drawn < 0.9) carryOut(fleet.tell({ type: "waiting", serial: pick(), reason: "away" }));
        else fleet.atMs += random() < 0.1 ? 20_000 : 100;
        check(fleet, alive);
      }
      for (let calm = 0; calm < 100 && !(countReady(fleet.state) === 3 && fleet.state.roll === null); calm++) {
        for (const serial of [...dying]) end(serial, true);
        for (const serial of [...alive]) live(serial);
        carryOut(fleet.pass(1_000));
      }
      expect([countReady(fleet.state), fleet.state.roll]).toEqual([3, null]);
      carryOut(fleet.tell({ type: "drain", timeoutMs: null }));
      for (const serial of [...alive]) end(serial, true);
      expect(fleet.state.phase).toBe("drained");
    },
  );
});
