import { BACKOFF_MAX_MS, backoffMs } from "@rheo/core/internal";
import {
  type GroupEffect,
  type GroupMessage,
  type GroupState,
  heldBy,
  initialState,
  MAX_ADAPTED_DEMAND,
  transition,
} from "@rheo/runtime/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const settings = { capacity: 2, maxDemand: null, pollMs: 200 };

const after = (
  messages: readonly GroupMessage[],
  from: GroupState = initialState(settings),
): { state: GroupState; effects: readonly GroupEffect[] } =>
  messages.reduce<{ state: GroupState; effects: readonly GroupEffect[] }>(
    ({ state }, message) => {
      const [next, effects] = transition(state, message);
      return { state: next, effects };
    },
    { state: from, effects: [] },
  );

const fetched = (asked: number, granted: number, settled = 0): GroupMessage => ({
  type: "fetched",
  asked,
  granted,
  settled,
  more: false,
  longestPollMs: 200,
  atMs: 0,
});
const outcome = (count: number): GroupMessage => ({ type: "outcome", count, dropped: 0, atMs: 0 });
const types = (effects: readonly GroupEffect[]): string[] =>
  effects.map((effect) => (effect.type === "arm" || effect.type === "disarm" ? `${effect.type} ${effect.timer}` : effect.type));

describe("a group decides", () => {
  test("with a ration of nothing, to give back what it holds and to fetch nothing", () => {
    const { state, effects } = after([
      { type: "ready" },
      fetched(4, 4),
      { type: "started", count: 1 },
      { type: "ration", ration: 0, recall: true },
    ]);
    expect(effects).toContainEqual({ type: "release_unstarted", recall: true });
    const released = after([{ type: "released", count: 3, overdue: false }], state);
    expect(released.effects).toEqual([{ type: "exchange", fetch: 0 }]);
    expect(after([fetched(0, 0, 3), outcome(1), { type: "wakeup" }], released.state).state.exchange).toEqual({ asked: 0 });
  });

  test("with a ration, to hold no more than that unstarted, and to ask when half of it is used", () => {
    const rationed = initialState(settings, 3);
    const { state, effects } = after([{ type: "ready" }], rationed);
    expect(effects).toContainEqual({ type: "exchange", fetch: 3 });
    expect(types(after([fetched(3, 3), { type: "started", count: 1 }], state).effects)).toEqual(["run"]);
    expect(after([fetched(3, 3), { type: "started", count: 2 }, outcome(2)], state).state.exchange).toEqual({ asked: 2 });
  });

  test("to fetch twice its capacity once it is ready", () => {
    expect(after([{ type: "ready" }]).effects).toEqual([
      { type: "tell", what: "started" },
      { type: "exchange", fetch: 4 },
    ]);
  });

  describe("to poll, once it is idle,", () => {
    const polled = (atMs: number, granted = 0): GroupMessage[] => [
      { type: "fetched", asked: 4, granted, settled: 0, more: false, longestPollMs: 2_000, atMs },
      { type: "tick", timer: "poll" },
    ];
    const delayAfter = (...messages: readonly GroupMessage[]): number | undefined => {
      const { effects } = after([{ type: "ready" }, ...messages.slice(0, -1)]);
      return effects.flatMap((effect) => (effect.type === "arm" && effect.timer === "poll" ? [effect.delayMs] : []))[0];
    };

    test("after the usual time first, then after an eighth of the time that it has been idle, up to the longest", () => {
      expect(delayAfter(...polled(1_000))).toBe(200);
      expect(delayAfter(...polled(1_000), ...polled(2_000))).toBe(200);
      expect(delayAfter(...polled(1_000), ...polled(9_000))).toBe(1_000);
      expect(delayAfter(...polled(1_000), ...polled(9_000), ...polled(60_000))).toBe(2_000);
    });

    test("as often as at first again, after a delivery, a settlement or a wake-up", () => {
      const idle = [...polled(1_000), ...polled(60_000)];
      const work: GroupMessage[] = [{ type: "started", count: 1 }, outcome(1)];
      const settled: GroupMessage = {
        type: "fetched",
        asked: 3,
        granted: 0,
        settled: 1,
        more: false,
        longestPollMs: 2_000,
        atMs: 61_500,
      };
      expect(delayAfter(...idle, ...polled(61_000, 1).slice(0, 1), ...work, settled, ...polled(62_000))).toBe(200);
      expect(delayAfter(...idle.slice(0, -1), { type: "wakeup" }, ...polled(61_000))).toBe(200);
      expect(delayAfter(...idle, { type: "wakeup" }, ...polled(61_000), ...polled(61_001))).toBe(200);
    });

    test("never less often than it is told to", () => {
      expect(
        after([{ type: "ready" }, ...polled(0), { ...polled(60_000)[0], longestPollMs: 5 } as GroupMessage]).effects,
      ).toContainEqual({
        type: "arm",
        timer: "poll",
        delayMs: 200,
        jitter: 0.2,
      });
    });
  });

  test("to run what was granted", () => {
    expect(types(after([{ type: "ready" }, fetched(4, 4)]).effects)).toEqual(["run"]);
  });

  test("to poll with jitter after a fetch that did not bring all", () => {
    expect(after([{ type: "ready" }, fetched(4, 0)]).effects).toEqual([
      { type: "arm", timer: "poll", delayMs: 200, jitter: 0.2 },
    ]);
  });

  test("a wake-up ends the wait for the poll", () => {
    expect(types(after([{ type: "ready" }, fetched(4, 0), { type: "wakeup" }]).effects)).toEqual(["disarm poll", "exchange"]);
  });

  test("O14 a wake-up leaves no poll timer alive and starts no second fetch", () => {
    const { state, effects } = after([
      { type: "ready" },
      fetched(4, 0),
      { type: "wakeup" },
      { type: "wakeup" },
      { type: "tick", timer: "poll" },
    ]);
    expect([state.exchange, types(effects)]).toEqual([{ asked: 4 }, []]);
  });

  test("a wake-up during a fetch is answered by another fetch", () => {
    expect(types(after([{ type: "ready" }, { type: "wakeup" }, fetched(4, 0)]).effects)).toEqual(["exchange"]);
  });

  test("B136 neither wake-ups nor completions shorten a back-off", () => {
    const { state, effects } = after([
      { type: "ready" },
      fetched(4, 4),
      { type: "started", count: 2 },
      outcome(2),
      { type: "fetch_failed" },
      { type: "wakeup" },
      { type: "started", count: 2 },
      outcome(2),
      { type: "tick", timer: "poll" },
    ]);
    expect(state.exchange).toBeNull();
    expect(types(effects)).not.toContain("exchange");
    expect(types(after([{ type: "tick", timer: "backoff" }], state).effects)).toContain("exchange");
  });

  test("the back-off grows to 5 s and never beyond", () => {
    expect(backoffMs(1)).toBe(50);
    for (let failures = 1; failures < 100; failures++)
      expect(backoffMs(failures) * 1.5).toBeLessThanOrEqual(BACKOFF_MAX_MS + 0.001);
  });

  test("to settle with the next fetch when everything is done, and to ask for twice as much if that was quick", () => {
    expect(after([{ type: "ready" }, fetched(4, 4), { type: "started", count: 4 }, outcome(4)]).effects).toEqual([
      { type: "exchange", fetch: 8 },
    ]);
  });

  test("to let one outcome wait a moment for others, and no longer", () => {
    const { state, effects } = after([{ type: "ready" }, fetched(4, 2), { type: "started", count: 2 }, outcome(1)]);
    expect(effects).toEqual([{ type: "arm", timer: "settle", delayMs: 5, jitter: 0 }]);
    expect(types(after([{ type: "tick", timer: "settle" }], state).effects)).toContain("exchange");
  });

  test("B36 a pause gives back what has not begun, and settles it at once", () => {
    const { state, effects } = after([{ type: "ready" }, fetched(4, 4), { type: "started", count: 2 }, { type: "pause" }]);
    expect(types(effects)).toEqual(["tell", "release_unstarted"]);
    expect(types(after([{ type: "released", count: 2, overdue: false }], state).effects)).toEqual([
      "release_unstarted",
      "exchange",
    ]);
  });

  test("a paused group asks for nothing", () => {
    expect(
      after([{ type: "ready" }, fetched(4, 0), { type: "pause" }, { type: "wakeup" }, { type: "tick", timer: "poll" }]).state
        .exchange,
    ).toBeNull();
  });

  test("a drain is over when nothing is held", () => {
    const { state, effects } = after([
      { type: "ready" },
      fetched(4, 1),
      { type: "started", count: 1 },
      { type: "drain", timeoutMs: 100 },
      outcome(1),
      fetched(0, 0, 1),
    ]);
    expect([state.phase, types(effects)]).toEqual(["stopped", ["tell", "finish"]]);
  });

  test("a drain can be resumed until it is over", () => {
    const { state, effects } = after([
      { type: "ready" },
      fetched(4, 1),
      { type: "started", count: 1 },
      { type: "drain", timeoutMs: 100 },
      { type: "resume" },
    ]);
    expect([state.phase, types(effects)]).toEqual(["running", ["disarm deadline", "tell"]]);
  });

  test("a drain out of time interrupts, and ends regardless a while later", () => {
    const { state, effects } = after([
      { type: "ready" },
      fetched(4, 1),
      { type: "started", count: 1 },
      { type: "drain", timeoutMs: 100 },
      { type: "tick", timer: "deadline" },
    ]);
    expect(types(effects)).toContain("interrupt");
    expect(after([{ type: "tick", timer: "abandon" }], state).state.phase).toBe("stopped");
  });

  test("B80 a drain before the group is ready ends it", () => {
    expect(after([{ type: "drain", timeoutMs: 100 }, { type: "ready" }]).state.phase).toBe("stopped");
  });

  test("a pause before the group is ready is kept", () => {
    expect(after([{ type: "pause" }, { type: "ready" }]).state).toMatchObject({ phase: "paused", exchange: null });
  });

  test("B43 nothing new is taken while renewals fail", () => {
    const { state } = after([
      { type: "ready" },
      fetched(4, 0),
      { type: "renewed", failures: 1 },
      { type: "tick", timer: "poll" },
    ]);
    expect(state.exchange).toBeNull();
    expect(after([{ type: "renewed", failures: 0 }], state).state.exchange).not.toBeNull();
  });

  test("leases that waited too long halve the demand, down to the capacity", () => {
    const grown = after([{ type: "ready" }, fetched(4, 4)]).state;
    expect(
      after(
        [
          { type: "released", count: 2, overdue: true },
          { type: "released", count: 1, overdue: true },
        ],
        grown,
      ).state.demand.size,
    ).toBe(2);
  });

  test("never asks for more than one fetch may bring", () => {
    const wide = initialState({ capacity: 8_000, maxDemand: null, pollMs: 200 });
    expect(after([{ type: "ready" }], wide).effects).toContainEqual({ type: "exchange", fetch: 10_000 });
  });

  test("the demand grows while handlers are quicker than the store, and nothing is held between two answers", () => {
    let state = after([{ type: "ready" }], initialState({ capacity: 64, maxDemand: null, pollMs: 200 })).state;
    for (let round = 0; round < 40; round++) {
      const asked = state.exchange?.asked ?? 0;
      const settled = state.unsettled;
      state = after([fetched(asked, asked, settled), { type: "started", count: asked }, outcome(asked - 8)], state).state;
      state = after([outcome(8)], state).state;
    }
    expect(state.demand.size).toBe(MAX_ADAPTED_DEMAND);
  });

  test("the demand grows while fetches come back full and the work is quick", () => {
    let state = after([{ type: "ready" }]).state;
    for (let round = 0; round < 12; round++) {
      const asked = state.exchange?.asked ?? 0;
      state = after([fetched(asked, asked, state.unsettled), { type: "started", count: asked }, outcome(asked)], state).state;
    }
    expect(state.demand.size).toBe(MAX_ADAPTED_DEMAND);
  });
});

/** Carries effects out as a store, handlers and timers would, in an order that the given choices decide, and checks as it goes. */
class World {
  state = initialState({ capacity: 3, maxDemand: 7, pollMs: 200 });
  exchanges = 0;
  fetched = 0;
  ended = 0;
  backlog = 40;
  readonly #armed = new Set<string>();
  #inFlight: { asked: number; settling: number } | null = null;
  #unstarted = 0;
  #running = 0;
  #unsettled = 0;
  #nowMs = 0;
  finished = false;

  tell(message: GroupMessage): void {
    const [state, effects] = transition(this.state, message);
    this.state = state;
    expect(heldBy(state)).toBeLessThanOrEqual(7);
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: GroupEffect): void {
    if (effect.type === "exchange") {
      expect(this.#inFlight, "one exchange at a time").toBeNull();
      expect(this.#armed.has("backoff"), "no exchange during a back-off").toBe(false);
      expect(this.state.unstarted + effect.fetch, "the ration kept").toBeLessThanOrEqual(
        Math.max(this.state.unstarted, this.state.ration ?? Number.POSITIVE_INFINITY),
      );
      this.#inFlight = { asked: effect.fetch, settling: this.#unsettled };
      this.exchanges += 1;
    } else if (effect.type === "arm") this.#armed.add(effect.timer);
    else if (effect.type === "disarm") this.#armed.delete(effect.timer);
    else if (effect.type === "release_unstarted" && this.#unstarted > 0) {
      const count = this.#unstarted;
      this.#unsettled += count;
      this.#unstarted = 0;
      this.tell({ type: "released", count, overdue: false });
    } else if (effect.type === "finish") this.finished = true;
  }

  step(choice: number): void {
    this.#nowMs += 10;
    const moves = this.#moves();
    moves[choice % moves.length]?.();
  }

  #moves(): (() => void)[] {
    const moves: (() => void)[] = [
      () => this.tell({ type: "wakeup" }),
      () => this.tell({ type: "ration", ration: 0, recall: true }),
      () => this.tell({ type: "ration", ration: 2, recall: false }),
      () => this.tell({ type: "ration", ration: null, recall: false }),
    ];
    if (this.#inFlight !== null)
      moves.push(
        () => this.#answer(),
        () => this.#answer(),
        () => this.#failExchange(),
      );
    if (this.#unstarted > 0 && this.#running < 3 && this.state.phase === "running" && this.state.ration !== 0)
      moves.push(() => this.#start());
    if (this.#running > 0)
      moves.push(
        () => this.#end(),
        () => this.#returnOne(),
      );
    if (this.#unstarted > 0) moves.push(() => this.#lose());
    for (const timer of this.#armed) {
      if (timer === "poll" || timer === "backoff" || timer === "settle") moves.push(() => this.fire(timer));
    }
    return moves;
  }

  fire(timer: "poll" | "backoff" | "settle"): void {
    this.#armed.delete(timer);
    this.tell({ type: "tick", timer });
  }

  #answer(): void {
    const { asked, settling } = this.#inFlight ?? { asked: 0, settling: 0 };
    this.#inFlight = null;
    const granted = Math.min(asked, this.backlog);
    this.backlog -= granted;
    this.fetched += granted;
    this.#unstarted += granted;
    this.#unsettled -= settling;
    this.ended += settling;
    this.tell({ type: "fetched", asked, granted, settled: settling, more: false, longestPollMs: 200, atMs: this.#nowMs });
  }

  #failExchange(): void {
    this.#inFlight = null;
    this.tell({ type: "fetch_failed" });
  }

  #start(): void {
    this.#unstarted -= 1;
    this.#running += 1;
    this.tell({ type: "started", count: 1 });
  }

  #end(): void {
    this.#running -= 1;
    this.#unsettled += 1;
    this.tell({ type: "outcome", count: 1, dropped: 0, atMs: this.#nowMs });
  }

  #returnOne(): void {
    this.#running -= 1;
    this.#unstarted += 1;
    this.tell({ type: "returned", count: 1, dropped: 0 });
  }

  #lose(): void {
    this.#unstarted -= 1;
    this.ended += 1;
    this.tell({ type: "lost", unstarted: 1, unsettled: 0 });
  }

  /** Everything goes well from here on. */
  settleDown(): void {
    this.tell({ type: "drain", timeoutMs: 1_000 });
    for (let n = 0; n < 1_000 && !this.finished; n++) {
      if (this.#inFlight !== null) this.#answer();
      else if (this.#running > 0) this.#end();
      else if (this.#armed.has("backoff")) this.fire("backoff");
      else if (this.#armed.has("settle")) this.fire("settle");
    }
  }
}

test("whatever the order of events: one exchange at a time, demand kept, back-off kept, every delivery ends once", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000), { maxLength: 300 }), (choices) => {
      const world = new World();
      world.tell({ type: "ready" });
      for (const choice of choices) world.step(choice);
      world.settleDown();
      expect(world.finished).toBe(true);
      expect(world.ended).toBe(world.fetched);
      expect(heldBy(world.state)).toBe(0);
    }),
    { numRuns: 500 },
  );
});
