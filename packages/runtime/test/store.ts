import {
  type Backend,
  type Clock,
  type ExchangeRequest,
  type FrozenClock,
  Rheo,
  type RheoEventOf,
  type RheoEventType,
} from "@rheo/core";
import { memory } from "@rheo/memory";

/** A store in memory with one stream, "orders", of one partition. */
export const openOrders = async (
  options: { clock?: Clock; backend?: Backend; payloads?: readonly unknown[] } = {},
): Promise<Rheo> => {
  const { clock, backend = memory(), payloads = [] } = options;
  const rheo = await Rheo.open(clock === undefined ? { backend } : { backend, clock });
  await rheo.createStream("orders", { partitions: 1 });
  if (payloads.length > 0)
    await rheo.appendMany(
      "orders",
      payloads.map((payload) => ({ payload })),
    );
  return rheo;
};

/** What the fixture `actions.mjs` is told to do. */
export const actions = (
  ...names: readonly (string | { readonly do: string; readonly [more: string]: unknown })[]
): readonly unknown[] => names.map((name) => (typeof name === "string" ? { do: name } : name));

export const fixture = (name: string): URL => new URL(`./fixtures/${name}`, import.meta.url);

/** Everything of some types that happens from now on, in order. */
export const record = <Type extends RheoEventType>(rheo: Rheo, ...types: readonly Type[]): RheoEventOf<Type>[] => {
  const seen: RheoEventOf<Type>[] = [];
  for (const type of types) rheo.events.on(type, ((event: RheoEventOf<Type>) => void seen.push(event)) as never); // one listener for several types
  return seen;
};

/** Lets the event loop turn until a condition holds. Looks at states, so it needs no time to be guessed; fails after `limitMs`. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>, limitMs: number = 20_000): Promise<void> => {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

export const caughtUp = (rheo: Rheo, group = "g"): Promise<void> =>
  until(`${group} has caught up`, async () => (await rheo.lag("orders", group)).lag === 0);

/** Turns of the event loop, without time passing by a frozen clock. */
export const turns = async (count = 20): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** A backend whose calls can be made to fail or to wait. */
export interface Fault {
  exchange?: (call: () => Promise<unknown>, request: ExchangeRequest) => Promise<unknown>;
  renew?: (call: () => Promise<unknown>) => Promise<unknown>;
}

export const faulty = (backend: Backend, fault: Fault): Backend =>
  new Proxy(backend, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const call = (...parts: unknown[]): unknown => Reflect.apply(value, target, parts);
      if (name !== "exchange" && name !== "renew") return call;
      return (...parts: unknown[]) => {
        const meddle = fault[name];
        if (meddle === undefined) return call(...parts);
        return meddle(() => call(...parts) as Promise<unknown>, parts[0] as ExchangeRequest); // both return promises; only one uses it
      };
    },
  });

/** Lets time pass by a frozen clock in steps, with turns of the event loop between them. */
export const pass = async (clock: FrozenClock, ms: number, stepMs: number = 50): Promise<void> => {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    await turns(4);
  }
};

/** Stops while somebody else moves the clock. */
export const stopFrozen = async (app: { stop(): Promise<void> }, clock: FrozenClock): Promise<void> => {
  let stopped = false;
  const stop = app.stop().then(() => {
    stopped = true;
  });
  while (!stopped) {
    clock.advance(100);
    await turns(2);
  }
  await stop;
};
