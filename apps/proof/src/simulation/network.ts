/** The way between one process and the store: slow, lossy, and silent towards a process that is stopped or dead. */
import { type Backend, RheoError, type WakeListener } from "@rheo/core";
import type { Random } from "@rheo/testing/internal";
import type { Counts } from "./counts.ts";
import type { HostClock } from "./host-clock.ts";
import type { FaultPlan } from "./plan.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface NetworkOptions {
  readonly store: Backend;
  readonly host: HostClock;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly counts: Counts;
  /** Asked at each call: faults end. */
  readonly faults: () => FaultPlan;
}

/** Whatever else is a read, and changes nothing. */
const WRITES = new Set(["createStream", "append", "createGroup", "updateGroup", "exchange", "renew", "trim"]);
/** A repeated wake-up comes within so long. */
const REPEAT_MS = 50;

type Call = (...args: readonly unknown[]) => Promise<unknown>;

export const networkTo = (options: NetworkOptions): Backend => {
  const { store, host, time } = options;
  const own: Record<string, unknown> = {
    name: store.name,
    capabilities: store.capabilities,
    // the store's clock, whatever the process thinks the time is (F6)
    open: () => store.open({ clock: time, migrate: true }),
    close: () => store.close(),
    subscribe: (listener: WakeListener) => store.subscribe(wakes(options, listener)),
    hearsAll: () => false, // wake-ups may be lost on the way
  };
  return new Proxy(store, {
    get: (target, name) => {
      if (typeof name !== "string") return undefined;
      if (Object.hasOwn(own, name)) return own[name];
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return undefined;
      own[name] = callOver(options, name, method.bind(target) as Call); // the rest of the port are methods that give a promise
      return own[name];
    },
    has: (target, name) => Reflect.has(target, name) && !host.isDead,
  });
};

const callOver = ({ host, time, random, counts, faults }: NetworkOptions, name: string, method: Call): Call => {
  const lag = async (): Promise<void> => {
    const { delay, maxDelayMs } = faults();
    if (!random.chance(delay)) return;
    counts.callsDelayed += 1;
    await new Promise<void>((resolve) => void time.schedule(random.below(maxDelayMs + 1), resolve));
  };
  const arrive = <Value>(value: Value, settle: (value: Value) => void): void => host.run(() => settle(value));
  return (...args) =>
    new Promise((resolve, reject) => {
      if (host.isDead) return;
      const travel = async (): Promise<void> => {
        const { refuse, lose } = faults();
        const drawn = random.next();
        await lag();
        if (drawn < refuse) {
          counts.callsRefused += 1;
          return arrive(new RheoError("unavailable", `${name} was refused. Nothing was applied.`), reject);
        }
        const answer = await method(...args).catch((cause: unknown) => new Thrown(cause));
        await lag();
        if (WRITES.has(name) && drawn < refuse + lose) {
          counts.answersLost += 1;
          return arrive(new RheoError("outcome_unknown", `The answer to ${name} was lost.`), reject);
        }
        if (answer instanceof Thrown) return arrive(answer.cause, reject);
        arrive(answer, resolve);
      };
      void travel();
    });
};

class Thrown {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

const wakes =
  ({ host, time, random, counts, faults }: NetworkOptions, listener: WakeListener): WakeListener =>
  (wake) => {
    const { dropWakes, repeatWakes } = faults();
    if (random.chance(dropWakes)) {
      counts.wakesDropped += 1;
      return;
    }
    host.run(() => listener(wake));
    if (!random.chance(repeatWakes)) return;
    counts.wakesRepeated += 1;
    time.schedule(random.below(REPEAT_MS), () => host.run(() => listener(wake)));
  };
