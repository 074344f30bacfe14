/** One store, and what is done to it through the port: the same for every store, so that answers can be compared as text. */
import {
  type Backend,
  type ExchangeAnswer,
  FrozenClock,
  type Grant,
  type NewEvent,
  RheoError,
  type Settlement,
  type SettleOutcome,
} from "@rheo/core";
import { acks, OPTIONS } from "../scene.ts";
import { type BackendUnderTest, openStore, type StoreUnderTest } from "../store.ts";
import { LEASE_MS, type Race, type RaceOp, type SetupStep } from "./race-ops.ts";

const STREAM = "race";
const GROUP = "group";
const MOST = 1_000;
const OUTCOMES: Readonly<Record<Extract<RaceOp, { kind: "settle" }>["how"], SettleOutcome>> = {
  ack: { kind: "ack" },
  release: { kind: "release" },
  retry: { kind: "retry", delayMs: 10, reason: "busy", stack: null },
  reject: { kind: "reject", reason: "bad", stack: null },
};

export class Racer {
  readonly #clock: FrozenClock;
  readonly #store: StoreUnderTest;
  readonly #handles: readonly Backend[];
  /** As the setup got them. */
  readonly #grants: Grant[] = [];

  private constructor(clock: FrozenClock, store: StoreUnderTest, handles: readonly Backend[]) {
    this.#clock = clock;
    this.#store = store;
    this.#handles = handles;
  }

  static async open(backend: BackendUnderTest, { ordering }: Pick<Race, "ordering">): Promise<Racer> {
    const clock = new FrozenClock();
    const store = await openStore(backend, clock);
    const handles = [store.backend, await store.again()];
    for (const handle of handles) await handle.open({ clock, migrate: true });
    const [first = store.backend] = handles;
    await first.createStream(STREAM, 1);
    const options = { ...OPTIONS, leaseMs: LEASE_MS, maxAttempts: 3, ordering };
    await first.createGroup(STREAM, GROUP, options, { kind: "earliest" });
    return new Racer(clock, store, handles);
  }

  async close(): Promise<void> {
    for (const handle of this.#handles) await handle.close();
    await this.#store.dispose?.();
  }

  async prepare(steps: readonly SetupStep[]): Promise<void> {
    for (const step of steps) {
      if (step.kind === "advance") this.#clock.advance(step.ms);
      else await this.#perform(step, 0, true);
    }
  }

  /** The answer as text. `handle`: through which. */
  async perform(op: RaceOp, handle: number): Promise<string> {
    return asText(await this.#perform(op, handle, false));
  }

  /** What can be seen afterwards, as text. */
  async look(): Promise<string> {
    const [store] = this.#handles;
    if (store === undefined) throw new TypeError("no handle is open");
    const progress = await store.progress(STREAM, GROUP);
    const leases = await store.leases(STREAM, GROUP, MOST);
    const letters = await store.deadLetters({ stream: STREAM, group: GROUP, limit: MOST, after: null, where: null });
    const deliveries: unknown[] = [];
    const last = progress[0]?.highWatermark ?? 0;
    for (let sequence = 1; sequence <= last; sequence++) deliveries.push(await store.delivery(STREAM, GROUP, 0, sequence));
    const dead = letters.map(({ sequence, attempts, reason, event }) => ({ sequence, attempts, reason, id: event?.id }));
    return asText([progress, leases, dead, deliveries]);
  }

  async #perform(op: RaceOp, at: number, remember: boolean): Promise<unknown> {
    const handle = this.#handles[at % this.#handles.length];
    if (handle === undefined) throw new TypeError("no handle is open");
    try {
      return await this.#call(handle, op, remember);
    } catch (error) {
      if (!(error instanceof RheoError)) throw error;
      return error.code;
    }
  }

  async #call(store: Backend, op: RaceOp, remember: boolean): Promise<unknown> {
    switch (op.kind) {
      case "append": {
        const answers = await store.append([{ stream: STREAM, partitions: 1, events: op.ids.map(eventOf) }]);
        return answers.map((answer) =>
          answer.kind === "appended"
            ? answer.events.map(({ sequence, duplicate }) => [sequence, duplicate?.id ?? null])
            : [answer.kind],
        );
      }
      case "fetch":
        return this.#exchanged(await store.exchange(this.#request([], op.limit, op.consumerId)), remember);
      case "settle":
        return this.#exchanged(await store.exchange(this.#request(this.#settlements(op), op.limit, "a")), remember);
      case "renew": {
        const items = acks(this.#picked(op.pick)).map(({ partition, token, sequences }) => ({ partition, token, sequences }));
        return await store.renew({ stream: STREAM, group: GROUP, consumerId: "a", items, leaseMs: null });
      }
      case "replay":
        return await store.replay({
          stream: STREAM,
          group: GROUP,
          scope: { kind: "after", after: op.after },
          partitions: null,
          dryRun: false,
        });
      case "redrive":
        return await store.redrive({ stream: STREAM, group: GROUP, select: { kind: "all" }, purge: false });
      case "reset":
        return await store.reset(STREAM, GROUP, { kind: "earliest" });
      case "trim":
        return (
          await store.trim({
            stream: STREAM,
            cut: { kind: "keep", last: op.last },
            partitions: null,
            force: false,
            dryRun: false,
          })
        ).removed;
      default:
        return op satisfies never;
    }
  }

  #request(settlements: readonly Settlement[], limit: number | null, consumerId: string): Parameters<Backend["exchange"]>[0] {
    const fetch =
      limit === null ? null : { limit, maxBytes: 1_000_000, consumerId, leaseMs: null, partitions: null, runLimit: 1 };
    return { stream: STREAM, group: GROUP, settlements, fetch };
  }

  #settlements({ pick, how }: Extract<RaceOp, { kind: "settle" }>): Settlement[] {
    return acks(this.#picked(pick)).map((settlement) => ({ ...settlement, outcome: OUTCOMES[how] }));
  }

  #picked(pick: number): readonly Grant[] {
    const grant = this.#grants[pick % Math.max(1, this.#grants.length)];
    return grant === undefined ? [] : [grant];
  }

  #exchanged({ settled, grants, died }: ExchangeAnswer, remember: boolean): unknown {
    if (remember) this.#grants.push(...grants);
    const given = grants.map(({ token, attempt, events }) => [token, attempt, events.map(({ sequence }) => sequence)]);
    return { settled, given, died: died.map(({ sequence }) => sequence) };
  }
}

/** The names of objects in order, so that what is the same looks the same. */
const asText = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

const eventOf = (id: number): NewEvent => {
  const payload = `{"n":${id}}`;
  return {
    partition: 0,
    id: `e${id}`,
    timestampMs: null,
    type: null,
    key: `k${id % 2}`,
    metadata: "{}",
    payload,
    bytes: payload.length + 2,
    expectedSequence: null,
    values: { metadata: {}, payload: { n: id } },
  };
};
