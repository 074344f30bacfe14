/** The door "outcomes": whatever a handler returns or throws, its delivery ends, and so do its neighbours. */
import { setTimeout as sleep } from "node:timers/promises";
import { Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { supervise } from "@rheo/runtime";
import { batchHandler, handler } from "@rheo/runtime/handler";
import fc from "fast-check";
import { type Door, doorOf } from "./door.ts";
import { type Hostile, hostile } from "./hostile.ts";
import { pollution } from "./judge.ts";

interface Case {
  readonly values: readonly {
    readonly value: Hostile;
    readonly way: "returns" | "throws" | "resolves" | "rejects" | "as outcome";
  }[];
  readonly batch: boolean;
}

const way = fc.constantFrom(
  "returns" as const,
  "throws" as const,
  "resolves" as const,
  "rejects" as const,
  "as outcome" as const,
);
const cases: fc.Arbitrary<Case> = fc.record({
  values: fc.array(fc.record({ value: hostile, way }), { minLength: 1, maxLength: 6 }),
  batch: fc.boolean(),
});

/** In ms of real time. */
const PATIENCE_MS = 4_000;
const LOOK_MS = 2;

const give = ({ value, way: how }: Case["values"][number]): unknown => {
  const made = value.make();
  switch (how) {
    case "returns":
      return isThenable(made) ? undefined : made;
    case "throws":
      throw made;
    case "resolves":
      return (async () => [made])();
    case "rejects":
      return Promise.reject(made);
    case "as outcome":
      return { kind: "retry", reason: made, delayMs: typeof made === "number" && made > 0 ? 0 : made, stack: made }; // a delay is kept
    default:
      return how satisfies never;
  }
};

/** A function as `then` may never call back, and then nothing ends: that is the handler's word. */
const isThenable = (made: unknown): boolean => {
  try {
    return typeof Reflect.get(Object(made), "then") === "function";
  } catch {
    return false;
  }
};

export const outcomes: Door = doorOf("outcomes", cases, async ({ values, batch }, counts) => {
  await using rheo = await Rheo.open({ backend: memory() });
  await rheo.createStream("orders");
  await rheo.createGroup("orders", "billing", { maxAttempts: 2, retry: { minMs: 0, maxMs: 0 } });
  await rheo.appendMany(
    "orders",
    values.map((_, index) => ({ payload: index })),
  );
  const of = (payload: unknown): unknown =>
    give(values[Number(payload)] ?? { value: { name: "", make: () => undefined }, way: "returns" });
  const made = batch ? batchHandler((events) => of(events[0]?.payload)) : handler(({ payload }) => of(payload));
  await using supervisor = await supervise({
    rheo,
    consumers: [
      { stream: "orders", group: "billing", handler: made, pollMs: 2, ...(batch ? { batch: { size: 2, waitMs: 0 } } : {}) },
    ],
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  let left = -1;
  for (let waited = 0; waited < PATIENCE_MS; waited += LOOK_MS) {
    ({ lag: left } = await rheo.lag("orders", "billing"));
    if (left === 0) break;
    await sleep(LOOK_MS);
  }
  counts.add({ kind: "value", value: left });
  const shown = values.map((one) => `${one.way} ${one.value.name}`).join(", ");
  const leaked = pollution();
  return [
    ...(left === 0 ? [] : [`the group does not go on after a handler that ${shown} (lag ${left}, ${supervisor.state})`]),
    ...(supervisor.state === "failed" ? [`the group failed after a handler that ${shown}`] : []),
    ...(leaked === null ? [] : [leaked]),
  ];
});
