import { DEFAULT_RESTART, NO_FAILURES, onFailure, type RestartHistory, type RestartPolicy } from "@rheo/runtime/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const policy: RestartPolicy = { ...DEFAULT_RESTART, jitter: 0 };

const failAt = (times: readonly number[], by: RestartPolicy = policy): ReturnType<typeof onFailure>[] => {
  let history: RestartHistory = NO_FAILURES;
  return times.map((atMs) => {
    const decision = onFailure(by, history, atMs, 0.5);
    history = decision.history;
    return decision;
  });
};

describe("restarts", () => {
  test("the first failures are answered by restarts with a growing wait", () => {
    expect(failAt([0, 100, 300]).map((decision) => (decision.kind === "restart" ? decision.inMs : "escalate"))).toEqual([
      100, 200, 400,
    ]);
  });

  test("one failure more than the intensity within the period escalates", () => {
    expect(failAt([0, 1, 2, 3]).map(({ kind }) => kind)).toEqual(["restart", "restart", "restart", "escalate"]);
  });

  test("B45 one crash a day for 20 days is always restarted, at the first wait", () => {
    const days = Array.from({ length: 20 }, (_, day) => day * 86_400_000);
    for (const decision of failAt(days)) expect(decision).toMatchObject({ kind: "restart", inMs: 100 });
  });

  test("no restarts allowed: the first failure escalates", () => {
    expect(failAt([0], { ...policy, maxRestarts: 0 })[0]?.kind).toBe("escalate");
  });

  test("B134 the wait is capped, after any number of failures", () => {
    const many = { ...policy, maxRestarts: 1_000, withinMs: 1e12, maxMs: 1e12 };
    for (const decision of failAt(
      Array.from({ length: 200 }, (_, n) => n),
      many,
    )) {
      expect(decision).toMatchObject({ kind: "restart" });
      if (decision.kind === "restart") expect(decision.inMs).toBeLessThanOrEqual(86_400_000);
    }
  });

  test("B135 the wait is spread by the jitter", () => {
    const wait = (random: number): number => {
      const decision = onFailure({ ...policy, jitter: 0.5 }, NO_FAILURES, 0, random);
      return decision.kind === "restart" ? decision.inMs : -1;
    };
    expect([wait(0), wait(0.999)]).toEqual([100, 50]);
  });

  test("never more restarts within the period than allowed, whatever the times", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3_000), { maxLength: 60 }), fc.integer({ min: 0, max: 5 }), (gaps, maxRestarts) => {
        let atMs = 0;
        const times = gaps.map((gap) => (atMs += gap));
        const decisions = failAt(times, { ...policy, maxRestarts });
        const restarted = times.filter((_, at) => decisions[at]?.kind === "restart");
        for (const time of restarted)
          expect(restarted.filter((other) => other <= time && time - other < policy.withinMs).length).toBeLessThanOrEqual(
            maxRestarts,
          );
      }),
    );
  });
});
