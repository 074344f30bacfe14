/** Everything that programs do with a store, done to one that may be damaged: what came of it, in a few seconds at most. */
import { setTimeout as sleep } from "node:timers/promises";
import { Rheo, RheoError } from "@rheo/core";
import { supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { judge, judgeError } from "../judge.ts";
import { FILTERED, GROUP, PARTITIONS, STREAM } from "./shop.ts";

/** Where an event is: "partition@sequence". */
export type Place = string;
export const placeOf = (partition: number, sequence: number): Place => `${partition}@${sequence}`;

export interface GroupVisit {
  readonly handled: ReadonlySet<Place>;
  /** With the reason. Null: they could not be asked for. */
  readonly dead: ReadonlyMap<Place, string> | null;
  /** Null: it could not be asked. */
  readonly lag: number | null;
  /** Deliveries that it was told were not there. */
  readonly skipped: number;
}

export interface Visit {
  /** Hangs, and errors that nobody can act on. */
  readonly faults: readonly string[];
  /** Messages of coded errors, by reading and by consuming. */
  readonly refusals: ReadonlySet<string>;
  readonly isOpen: boolean;
  readonly read: ReadonlySet<Place>;
  readonly groups: Readonly<Record<string, GroupVisit>>;
}

/** The last question of a visit. */
export const LAST_LETTERS = "deadLetters at the end";
/** A group that has made no progress for so long does not, in ms of real time. */
const STUCK_MS = 400;
const LOOK_MS = 15;

/** Opens it by URL, reads and consumes all that can be. */
export const visit = async (url: string, groups: readonly string[] = [GROUP, FILTERED]): Promise<Visit> => {
  const tour = new Tour();
  await tour.attempt("open", async () => {
    tour.rheo = await Rheo.open(url);
  });
  const { rheo } = tour;
  const seen: Record<string, GroupVisit> = {};
  if (rheo !== null) {
    await tour.look(rheo);
    for (const group of groups) seen[group] = await tour.consume(rheo, group);
    await tour.attempt("close", () => rheo.close());
  }
  return { faults: tour.faults, refusals: tour.refusals, isOpen: rheo !== null, read: tour.read, groups: seen };
};

class Tour {
  rheo: Rheo | null = null;
  readonly faults: string[] = [];
  readonly refusals = new Set<string>();
  readonly read = new Set<Place>();

  /** Whether it worked. */
  async attempt(what: string, work: () => unknown): Promise<boolean> {
    const verdict = await judge(work);
    if (verdict.kind === "fault") this.faults.push(`${what}: ${verdict.text}`);
    if (verdict.kind === "refused") this.refusals.add(`${what}: ${verdict.code}: ${verdict.message}`);
    return verdict.kind === "value";
  }

  async look(rheo: Rheo): Promise<void> {
    for (let partition = 0; partition < PARTITIONS; partition++) await this.#readAll(rheo, partition);
    await this.attempt("query", () => rheo.query(STREAM, { where: { "payload.number": { gt: 3 } } }));
    await this.attempt("query by metadata", () => rheo.query(STREAM, { correlationId: "c", order: "desc" }));
    await this.attempt("streamInfo", () => rheo.streamInfo(STREAM));
    await this.attempt("getEvent", () => rheo.getEvent(STREAM, "e0-5"));
    await this.attempt("diagnose", () => rheo.diagnose());
    await this.attempt("append", () => rheo.append(STREAM, { payload: 1, key: "k0", partition: 0, id: "e0-5" }));
    for (const group of [GROUP, FILTERED]) {
      await this.attempt("groupInfo", () => rheo.groupInfo(STREAM, group));
      await this.attempt("explainLag", () => rheo.explainLag(STREAM, group));
      await this.attempt("leases", () => rheo.leases(STREAM, group));
      await this.attempt("deadLetters", () => rheo.deadLetters(STREAM, group));
    }
  }

  /** Goes on behind each event that cannot be read. */
  async #readAll(rheo: Rheo, partition: number): Promise<void> {
    for (let after = 0; after >= 0; ) {
      let next = -1;
      await this.attempt("scan", async () => {
        try {
          for await (const { sequence } of rheo.scan(STREAM, { partition, afterSequence: after })) {
            this.read.add(placeOf(partition, sequence));
            after = sequence;
          }
        } catch (error) {
          const at = RheoError.is(error) ? error.details.sequence : undefined;
          if (at !== undefined && at > after) next = at;
          throw error;
        }
      });
      after = next;
    }
  }

  async consume(rheo: Rheo, group: string): Promise<GroupVisit> {
    const handled = new Set<Place>();
    const told = (error: unknown): void => {
      const verdict = judgeError(error);
      if (verdict.kind === "fault") this.faults.push(`consuming ${group}: ${verdict.text}`);
      if (verdict.kind === "refused") this.refusals.add(`consuming ${group}: ${verdict.code}: ${verdict.message}`);
    };
    const note = ({ error }: { readonly error: unknown }): void => told(error);
    for (const type of ["fetch.failed", "settle.failed", "child.failed"] as const) rheo.events.on(type, note);
    await this.attempt(`supervise ${group}`, async () => {
      await using supervisor = await supervise({
        rheo,
        consumers: [
          {
            stream: STREAM,
            group,
            handler: handler((event) => void handled.add(placeOf(event.partition, event.sequence))),
            pollMs: LOOK_MS,
            leaseMs: 10_000, // a busy machine is no damage
          },
        ],
        restart: { minMs: 1, maxMs: 2 },
        maxRestarts: 1,
        logger: SILENT,
        stopTimeoutMs: 1_000,
      });
      await this.#untilStill(rheo, group, () => handled.size);
      void supervisor.state;
    });
    for (const type of ["fetch.failed", "settle.failed", "child.failed"] as const) rheo.events.off(type, note);
    return { handled, ...(await this.#ends(rheo, group)) };
  }

  /** Until nothing is left, or nothing has moved for long. */
  async #untilStill(rheo: Rheo, group: string, handled: () => number): Promise<void> {
    let seen = "";
    for (let still = 0; still < STUCK_MS; still += LOOK_MS) {
      await sleep(LOOK_MS);
      const lag = await rheo.lag(STREAM, group).then(
        ({ lag: left }) => left,
        () => null,
      );
      if (lag === 0) return;
      const now = `${lag} ${handled()}`;
      if (now !== seen) still = 0;
      seen = now;
    }
  }

  async #ends(rheo: Rheo, group: string): Promise<Omit<GroupVisit, "handled">> {
    const dead = new Map<Place, string>();
    let lag: number | null = null;
    let skipped = 0;
    await this.attempt("lag", async () => {
      const found = await rheo.lag(STREAM, group);
      lag = found.lag;
      skipped = found.partitions.reduce((sum, part) => sum + part.skipped, 0);
    });
    const isTold = await this.attempt(LAST_LETTERS, async () => {
      for (const { partition, sequence, reason } of await rheo.deadLetters(STREAM, group))
        dead.set(placeOf(partition, sequence), reason);
    });
    return { dead: isTold ? dead : null, lag, skipped };
  }
}

const nothing = (): void => undefined;
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing };
