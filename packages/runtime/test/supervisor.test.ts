import { type Emit, FrozenClock } from "@rheo/core";
import { type Child, type ChildSpec, ChildSupervisor, DEFAULT_RESTART, type Strategy } from "@rheo/runtime/internal";
import { describe, expect, test } from "vitest";
import { turns } from "./store.ts";

/** Children that note what is done to them, and fail when told to. */
class Nursery {
  readonly log: string[] = [];
  readonly clock = new FrozenClock();
  readonly failures = new Map<string, (error: Error) => void>();
  readonly supervisor: ChildSupervisor;

  constructor(strategy: Strategy, ids: readonly string[] = ["a", "b", "c"], startsBadly: readonly string[] = []) {
    const emit: Emit = (type, fields) => {
      if (type === "supervisor.escalated") this.log.push(`escalated ${"child" in fields ? fields.child : ""}`);
    };
    const policy = { ...DEFAULT_RESTART, jitter: 0 };
    this.supervisor = new ChildSupervisor({
      specs: ids.map((id) => this.#spec(id, startsBadly.includes(id))),
      strategy,
      policy,
      clock: this.clock,
      random: () => 0,
      emit,
    });
  }

  #spec(id: string, startsBadly: boolean): ChildSpec {
    return {
      id,
      kind: "group",
      create: (onFailure): Child => {
        this.failures.set(id, onFailure);
        return {
          start: () => {
            this.log.push(`start ${id}`);
            return startsBadly ? Promise.reject(new Error(`${id} cannot start`)) : Promise.resolve();
          },
          status: () => ({ state: "running", details: {} }),
          pause: () => void this.log.push(`pause ${id}`),
          resume: () => void this.log.push(`resume ${id}`),
          drain: () => Promise.resolve(true),
          stop: () => Promise.resolve(void this.log.push(`stop ${id}`)),
        };
      },
    };
  }

  /** Fails a child and lets time pass until it was started again, or not. */
  async fail(id: string, waitMs = 1_000): Promise<string[]> {
    this.log.length = 0;
    this.failures.get(id)?.(new Error(`${id} failed`));
    await turns();
    this.clock.advance(waitMs);
    await turns();
    return [...this.log];
  }

  states(): string[] {
    return this.supervisor.children().map(({ state }) => state);
  }
}

describe("a supervisor", () => {
  test("starts in order and stops in reverse", async () => {
    const nursery = new Nursery("one_for_one");
    await nursery.supervisor.start();
    await nursery.supervisor.stop(0);
    expect(nursery.log).toEqual(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
  });

  test("one_for_one restarts the one that failed", async () => {
    const nursery = new Nursery("one_for_one");
    await nursery.supervisor.start();
    expect(await nursery.fail("b")).toEqual(["start b"]);
  });

  test("one_for_all stops the others and restarts all", async () => {
    const nursery = new Nursery("one_for_all");
    await nursery.supervisor.start();
    expect(await nursery.fail("b")).toEqual(["stop c", "stop a", "start a", "start b", "start c"]);
  });

  test("rest_for_one restarts it and those after it", async () => {
    const nursery = new Nursery("rest_for_one");
    await nursery.supervisor.start();
    expect(await nursery.fail("b")).toEqual(["stop c", "start b", "start c"]);
  });

  test("B46 gives a child up after too many failures, tells its owner, and leaves its siblings alone", async () => {
    const nursery = new Nursery("one_for_one");
    await nursery.supervisor.start();
    for (let n = 0; n < 3; n++) await nursery.fail("b");
    expect(await nursery.fail("b")).toEqual(["escalated b"]);
    expect([nursery.states(), (await nursery.supervisor.escalated).message, nursery.supervisor.failure?.message]).toEqual([
      ["running", "failed", "running"],
      "b failed",
      "b failed",
    ]);
    await nursery.supervisor.stop(0);
    expect(nursery.states()).toEqual(["stopped", "failed", "stopped"]);
  });

  test("one_for_all counts all failures together, and gives all up", async () => {
    const nursery = new Nursery("one_for_all");
    await nursery.supervisor.start();
    for (const id of ["a", "b", "c"]) await nursery.fail(id);
    expect(await nursery.fail("a")).toEqual(["escalated a", "stop c", "stop b"]);
    expect(nursery.states()).toEqual(["failed", "failed", "failed"]);
  });

  test("B45 a child that cannot start is tried again with growing waits, then given up", async () => {
    const nursery = new Nursery("one_for_one", ["a", "b"], ["a"]);
    await nursery.supervisor.start();
    for (const waitMs of [100, 200, 400]) {
      nursery.clock.advance(waitMs - 1);
      await turns();
      expect(nursery.states()[0]).toBe("restarting");
      nursery.clock.advance(1);
      await turns();
    }
    expect(nursery.states()).toEqual(["failed", "running"]);
    expect(nursery.supervisor.children()[0]).toMatchObject({ restarts: 3, lastError: { message: "a cannot start" } });
  });

  test("a stop during the wait for a restart ends it", async () => {
    const nursery = new Nursery("one_for_one");
    await nursery.supervisor.start();
    await nursery.fail("b", 10);
    await nursery.supervisor.stop(0);
    nursery.clock.advance(60_000);
    await turns();
    expect([nursery.log.filter((line) => line === "start b").length, nursery.states()]).toEqual([
      0,
      ["stopped", "stopped", "stopped"],
    ]);
  });

  test("B80 a stop while it starts ends what was started, and starts no more", async () => {
    const nursery = new Nursery("one_for_one");
    const started = nursery.supervisor.start();
    await nursery.supervisor.stop(0);
    await started;
    expect(nursery.states()).toEqual(["stopped", "stopped", "stopped"]);
    expect(nursery.log.filter((line) => line.startsWith("start")).length).toBe(
      nursery.log.filter((line) => line.startsWith("stop")).length,
    );
  });

  test("a failure of a child from before the restart is ignored", async () => {
    const nursery = new Nursery("one_for_one");
    await nursery.supervisor.start();
    const old = nursery.failures.get("b");
    await nursery.fail("b");
    old?.(new Error("late"));
    await turns();
    expect(nursery.states()).toEqual(["running", "running", "running"]);
  });

  test("a paused child stays paused through a restart", async () => {
    const nursery = new Nursery("one_for_one");
    await nursery.supervisor.start();
    nursery.supervisor.pause("b");
    expect(await nursery.fail("b")).toEqual(["pause b", "start b"]);
  });
});
