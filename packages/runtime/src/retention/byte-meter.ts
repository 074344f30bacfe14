import type { EventRecord, Watermark } from "@rheo/core";
import { utf8Bytes } from "@rheo/core/internal";

/** Reads events of a partition after a sequence: a page, empty at the end. */
export type ReadPage = (partition: number, after: number) => Promise<readonly EventRecord[]>;

interface Segment {
  readonly last: number;
  readonly bytes: number;
}

/** How many bytes of each partition lie where. Each event is read once; of a page only its end and its size are kept. */
export class ByteMeter {
  readonly #segments = new Map<number, Segment[]>();

  /** Reads what came since the last call. Ends early, with what it has, when `isEnded`. */
  async catchUp(marks: readonly Watermark[], readPage: ReadPage, isEnded: () => boolean): Promise<void> {
    for (const { partition, firstSequence, highWatermark } of marks) {
      const segments = this.#retained(partition, firstSequence);
      let after = segments.at(-1)?.last ?? firstSequence - 1;
      while (after < highWatermark && !isEnded()) {
        const page = await readPage(partition, after);
        const last = page.at(-1)?.sequence;
        if (last === undefined) break; // trimmed meanwhile
        segments.push({ last, bytes: page.reduce((sum, record) => sum + bytesOf(record), 0) });
        after = last;
      }
    }
  }

  /** Up to which sequence segments of a partition may go, so that what is left has at least `maxBytes`; 0: none. */
  surplus(partition: number, maxBytes: number): number {
    const segments = this.#segments.get(partition) ?? [];
    let left = segments.reduce((sum, { bytes }) => sum + bytes, 0);
    let upTo = 0;
    for (const { last, bytes } of segments) {
      left -= bytes;
      if (left < maxBytes) break;
      upTo = last;
    }
    return upTo;
  }

  #retained(partition: number, firstSequence: number): Segment[] {
    const segments = (this.#segments.get(partition) ?? []).filter(({ last }) => last >= firstSequence);
    this.#segments.set(partition, segments);
    return segments;
  }
}

const bytesOf = ({ bytes, id, type, key, metadata, payload }: EventRecord): number =>
  bytes ?? utf8Bytes(id) + utf8Bytes(type ?? "") + utf8Bytes(key ?? "") + utf8Bytes(metadata) + utf8Bytes(payload);
