/** The door "methods": each public method of an instance, with one argument, or a part of one, that is hostile. */
import fc from "fast-check";
import { CALLS, type Call } from "./calls.ts";
import type { Counts } from "./counts.ts";
import { type Door, doorOf } from "./door.ts";
import { type Hostile, hostile } from "./hostile.ts";
import { judge, pollution, type Verdict } from "./judge.ts";
import { openScene, STORES, type StoreUrl, snapshot } from "./scene.ts";
import { spoil } from "./spoil.ts";

/** A call with a hostile value at a place. */
interface Step {
  readonly call: Call;
  readonly where: number;
  /** Null: everything is sound. */
  readonly value: Hostile | null;
}

const MAX_STEPS = 12;
const WHERE = 2 ** 16;

const step: fc.Arbitrary<Step> = fc.record({
  call: fc.constantFrom(...CALLS),
  where: fc.nat(WHERE),
  value: fc.option(hostile, { freq: 4 }),
});
const steps = fc.array(step, { minLength: 1, maxLength: MAX_STEPS });

interface MethodCase {
  readonly url: StoreUrl;
  readonly steps: readonly Step[];
}

const cases: fc.Arbitrary<MethodCase> = fc.record({ url: fc.constantFrom(...STORES), steps });

const run = async ({ url, steps: taken }: MethodCase, counts: Counts): Promise<string[]> => {
  const scene = await openScene(url);
  const faults: string[] = [];
  try {
    let before = await snapshot(scene.rheo);
    for (const { call, where, value } of taken) {
      const values = call.arguments(scene);
      const spoiled = value === null ? "nothing hostile" : `"${value.name}" at ${spoil(values, where, value.make())}`;
      const verdict = await judge(
        () => consume(Reflect.apply(methodOf(scene.rheo, call.name), scene.rheo, values)),
        call.mayWait,
      );
      counts.add(verdict);
      const at = `${url} ${call.name} with ${spoiled}`;
      if (verdict.kind === "fault") faults.push(`${at}: ${verdict.text}`);
      const leaked = pollution();
      if (leaked !== null) faults.push(`${at}: ${leaked}`);
      const after = await snapshot(scene.rheo);
      if (mustNotChange(verdict) && after !== before) faults.push(`${at}: refused, but the store has changed`);
      before = after;
    }
  } finally {
    await scene.rheo.close();
  }
  return faults;
};

export const methods: Door = doorOf("methods", cases, run);

const mustNotChange = ({ kind }: Verdict): boolean => kind === "refused" || kind === "fault";

const methodOf = (owner: object, name: string): ((...values: unknown[]) => unknown) => {
  const method: unknown = Reflect.get(owner, name);
  if (typeof method !== "function") throw new TypeError(`There is no method ${name}.`);
  return method as (...values: unknown[]) => unknown; // called with whatever a fuzzer likes
};

/** Takes a little of what is a sequence. */
const consume = async (answer: unknown): Promise<unknown> => {
  if (typeof answer !== "object" || answer === null || !(Symbol.asyncIterator in answer)) return answer;
  const taken: unknown[] = [];
  for await (const item of answer as AsyncIterable<unknown>) {
    taken.push(item);
    if (taken.length >= TAKEN) break;
  }
  return taken;
};
const TAKEN = 3;
