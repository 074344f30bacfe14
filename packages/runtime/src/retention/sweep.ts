/** One pass over a stream that removes what its policy lets go. It can end anywhere, and the next one goes on from there. */
import type { Backend, Emit, EventRecord, TrimRequest, Watermark } from "@rheo/core";
import { toEvent } from "@rheo/core/internal";
import type { ByteMeter } from "./byte-meter.ts";
import type { ArchiveContext, RetentionPolicy } from "./policy.ts";

export interface SweepOptions {
  readonly backend: Backend;
  readonly emit: Emit;
  readonly policy: RetentionPolicy;
  readonly meter: ByteMeter;
  /** The store's time. */
  readonly nowMs: number;
  readonly context: ArchiveContext;
}

export interface SweepReport {
  readonly removed: number;
  readonly archived: number;
  /** Due, but not settled by every group. */
  readonly heldBack: number;
}

type Cut = TrimRequest["cut"];

/** Of one chunk, and of a page that is only counted. */
const CHUNK_EVENTS = 1_000;
const CHUNK_BYTES = 4_194_304;

/** @throws stream_not_found, and whatever the archive throws */
export const sweep = async (options: SweepOptions): Promise<SweepReport> => {
  const run = new Sweep(options);
  await run.all();
  return run.report;
};

class Sweep {
  readonly #options: SweepOptions;
  #removed = 0;
  #archived = 0;
  #heldBack = 0;

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  get report(): SweepReport {
    return { removed: this.#removed, archived: this.#archived, heldBack: this.#heldBack };
  }

  async all(): Promise<void> {
    const { maxAgeMs, maxEvents, maxBytes } = this.#options.policy;
    if (maxAgeMs !== null) await this.#cut({ kind: "time", beforeMs: Math.max(0, this.#options.nowMs - maxAgeMs) }, null);
    if (maxEvents !== null) await this.#cut({ kind: "keep", last: maxEvents }, null);
    if (maxBytes !== null) await this.#cutToBytes(maxBytes);
  }

  async #cutToBytes(maxBytes: number): Promise<void> {
    const { backend, meter, policy } = this.#options;
    await meter.catchUp(await backend.watermarks(policy.stream), this.#readPage, () => this.#isEnded);
    for (const { partition } of await backend.watermarks(policy.stream)) {
      const last = meter.surplus(partition, maxBytes);
      if (last > 0) await this.#cut({ kind: "sequence", before: last + 1 }, [partition]);
    }
  }

  /** What is due and may go, of all partitions or those given. */
  async #cut(cut: Cut, partitions: readonly number[] | null): Promise<void> {
    if (this.#isEnded) return;
    if (this.#options.policy.archive === null) return void (await this.#remove(cut, partitions));
    const due = await this.#trim(cut, partitions, true);
    this.#heldBack = Math.max(this.#heldBack, due.heldBack);
    if (due.removed === 0) return;
    const marks = await this.#options.backend.watermarks(this.#options.policy.stream);
    for (const mark of marks) if (partitions?.includes(mark.partition) ?? true) await this.#archive(cut, mark);
  }

  async #archive(cut: Cut, { partition, firstSequence }: Watermark): Promise<void> {
    const { removed: due } = await this.#trim(cut, [partition], true);
    const last = firstSequence + due - 1;
    for (let at = firstSequence; at <= last && !this.#isEnded; ) {
      const records = (await this.#readPage(partition, at - 1)).filter(({ sequence }) => sequence <= last);
      if (records.length === 0) return; // trimmed by somebody else
      at = await this.#archiveChunk(partition, records);
      if (this.#isEnded) return; // the next leader archives that chunk, too
      const heldBack = await this.#remove({ kind: "sequence", before: at }, [partition]);
      if (heldBack > 0) return; // a group has gone back behind it meanwhile
    }
  }

  /** The sequence after the chunk. */
  async #archiveChunk(partition: number, records: readonly EventRecord[]): Promise<number> {
    const { policy, context } = this.#options;
    const [first, last] = [records[0]?.sequence ?? 0, records.at(-1)?.sequence ?? 0];
    const events = records.map((record) => toEvent(policy.stream, record));
    await policy.archive?.({ stream: policy.stream, partition, firstSequence: first, lastSequence: last, events }, context);
    this.#archived += events.length;
    return last + 1;
  }

  /** How much of that is held back. */
  async #remove(cut: Cut, partitions: readonly number[] | null): Promise<number> {
    let heldBack = 0;
    for (let more = true; more && !this.#isEnded; ) {
      const step = await this.#trim(cut, partitions, false);
      ({ more, heldBack } = step);
      this.#removed += step.removed;
      this.#options.emit("stream.trimmed", { stream: this.#options.policy.stream, removed: step.removed, heldBack });
    }
    this.#heldBack = Math.max(this.#heldBack, heldBack);
    return heldBack;
  }

  #trim(cut: Cut, partitions: readonly number[] | null, dryRun: boolean): ReturnType<Backend["trim"]> {
    const { backend, policy } = this.#options;
    return backend.trim({ stream: policy.stream, cut, partitions, force: policy.force, dryRun });
  }

  readonly #readPage = (partition: number, after: number): Promise<EventRecord[]> => {
    const { backend, policy } = this.#options;
    const page = { until: null, order: "asc", limit: CHUNK_EVENTS, maxBytes: CHUNK_BYTES } as const;
    return backend.read({ stream: policy.stream, partition, after, ...page });
  };

  get #isEnded(): boolean {
    return this.#options.context.signal.aborted;
  }
}
