/**
 * The door "definitions": what is made without a store, or around one, from options that are hostile in part. `handler()` is not among
 * it: by design it answers a mistake with a TypeError.
 */
import { defineStream, FrozenClock, Rheo, reject, retry } from "@rheo/core";
import { memory } from "@rheo/memory";
import { defineConsumer, defineRetention, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import fc from "fast-check";
import { type Door, doorOf } from "./door.ts";
import { type Hostile, hostile } from "./hostile.ts";
import { judge, pollution } from "./judge.ts";
import { spoil } from "./spoil.ts";

/** Makes something of arguments; what it makes is let go of at once. */
interface Make {
  readonly name: string;
  arguments(rheo: Rheo): unknown[];
  readonly call: (...values: readonly never[]) => unknown;
}

const nothing = (): void => undefined;
const closing = async (made: Promise<AsyncDisposable>): Promise<void> => (await made)[Symbol.asyncDispose]();

const MAKES: readonly Make[] = [
  {
    name: "Rheo.open",
    arguments: () => [
      {
        backend: memory(),
        name: "one",
        clock: new FrozenClock(),
        defaults: { maxAttempts: 3, retry: { minMs: 1, maxMs: 2 } },
        migrate: true,
        maxEventBytes: 1_000,
        random: () => 0.5,
      },
    ],
    call: (...values: readonly never[]) => closing(Rheo.open(...(values as unknown as [never]))),
  },
  {
    name: "defineStream",
    arguments: () => [
      {
        name: "orders",
        partitions: 2,
        schema: { "~standard": { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) } },
        version: 2,
        upcasters: { 1: (payload: unknown) => payload },
      },
    ],
    call: defineStream,
  },
  {
    name: "defineConsumer",
    arguments: () => [
      {
        stream: "orders",
        group: "billing",
        handler: handler(nothing),
        concurrency: 2,
        maxDemand: 5,
        leaseMs: 100,
        pollMs: 10,
        timeoutMs: 5,
        breaker: { failures: 2, withinMs: 5, openMs: 3, maxOpenMs: 9 },
        rateLimit: { events: 5, perMs: 5 },
        partitions: [0],
        execution: "inline",
        createGroup: { start: "latest" },
        createStream: { partitions: 2 },
        consumerId: "one",
      },
    ],
    call: defineConsumer,
  },
  {
    name: "defineRetention",
    arguments: () => [{ stream: "orders", maxAgeMs: 60_000, maxEvents: 10, maxBytes: 1_000, archive: nothing }],
    call: defineRetention,
  },
  { name: "retry", arguments: () => ["later", { delayMs: 5 }], call: retry },
  { name: "reject", arguments: () => [new Error("no")], call: reject },
  {
    name: "supervise",
    arguments: (rheo) => [
      {
        rheo,
        consumers: [
          { stream: "orders", group: "billing", handler: handler(nothing), createStream: { partitions: 1 }, createGroup: {} },
        ],
        retention: [{ stream: "orders", maxEvents: 10 }],
        strategy: "one_for_one",
        maxRestarts: 1,
        withinMs: 100,
        restart: { minMs: 1, maxMs: 2 },
        stopTimeoutMs: 5,
        signal: new AbortController().signal,
        logger: { debug: nothing, info: nothing, warn: nothing, error: nothing },
      },
    ],
    call: (...values: readonly never[]) => closing(Reflect.apply(supervise, undefined, values)),
  },
];

interface Case {
  readonly make: Make;
  readonly where: number;
  readonly value: Hostile;
}

const cases: fc.Arbitrary<Case> = fc.record({ make: fc.constantFrom(...MAKES), where: fc.nat(2 ** 16), value: hostile });

export const definitions: Door = doorOf("definitions", cases, async ({ make, where, value }, counts) => {
  await using rheo = await Rheo.open({ backend: memory() });
  const values = make.arguments(rheo);
  const path = spoil(values, where, value.make());
  const verdict = await judge(() => Reflect.apply(make.call, undefined, values));
  counts.add(verdict);
  const at = `${make.name} with "${value.name}" at ${path}`;
  const leaked = pollution();
  return [...(verdict.kind === "fault" ? [`${at}: ${verdict.text}`] : []), ...(leaked === null ? [] : [`${at}: ${leaked}`])];
});
