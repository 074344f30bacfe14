/**
 * What the processes of a soak write down, as lines of JSON in files of their own, before and after each call of the port. A line
 * is written before the next thing happens, so that a kill loses at most what was under way; the checker takes that for unknown.
 */
import { openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { SettledState, StaleReason } from "@rheo/core";
import type { Appended } from "./producer.ts";

/** Some deliveries of one partition under one token. */
interface Claim {
  readonly partition: number;
  readonly token: number;
  readonly sequences: readonly number[];
}

/**
 * Instants (`at`, `askedAt`) are µs of the host's monotonic clock, which is one for all its processes; those in ms are the store's
 * or the wall clock's.
 */
export type SoakRecord =
  /** A call of `exchange` is about to be made. */
  | {
      readonly kind: "asked";
      readonly call: string;
      readonly at: number;
      readonly wallMs: number;
      readonly group: string;
      readonly fetches: boolean;
      readonly settlements: readonly (Claim & { readonly outcome: string; readonly delayMs: number })[];
    }
  /** It was answered. */
  | {
      readonly kind: "answered";
      readonly call: string;
      readonly at: number;
      /** As the settlements of the question. */
      readonly settled: readonly (readonly (SettledState | `stale:${StaleReason}`)[])[];
      readonly grants: readonly (Claim & {
        readonly attempt: number;
        readonly leasedAtMs: number;
        readonly expiresAtMs: number;
      })[];
      readonly died: readonly { readonly partition: number; readonly sequence: number }[];
    }
  /** It failed; `applied` is false when certainly nothing was done. */
  | { readonly kind: "failed"; readonly call: string; readonly at: number; readonly mayBeApplied: boolean }
  /** A call of `renew`, once it was answered. An unanswered one proves nothing. */
  | {
      readonly kind: "renewed";
      readonly askedAt: number;
      readonly at: number;
      readonly group: string;
      readonly items: readonly (Claim & { readonly expiresAtMs: readonly (number | StaleReason)[] })[];
    }
  /** Events were appended, and that was answered. By a process that owns its store; else the harness appends, and knows. */
  | { readonly kind: "appended"; readonly at: number; readonly events: readonly Appended[] }
  /** What `lag` said in such a process. */
  | {
      readonly kind: "frontier";
      readonly group: string;
      readonly from: number;
      readonly to: number;
      /** By partition. */
      readonly frontier: readonly number[];
      /** Nothing more is appended, and nothing is left. */
      readonly isDrained: boolean;
    }
  /** A handler has done its work on a delivery. */
  | {
      readonly kind: "handled";
      readonly group: string;
      readonly partition: number;
      readonly sequence: number;
      readonly token: number;
    };

/** µs of the host's monotonic clock. */
export const nowMicros = (): number => Number(process.hrtime.bigint() / 1_000n);

/** Writes to a file of its own. */
export class Recorder {
  readonly #file: number;

  constructor(folder: string, name: string) {
    this.#file = openSync(join(folder, `${name}.jsonl`), "a");
  }

  write(record: SoakRecord): void {
    writeSync(this.#file, `${JSON.stringify(record)}\n`);
  }
}

/**
 * Everything that was written to a folder, file by file. The last line of a file may have been cut off by a kill; it is left out.
 */
export function* readRecords(folder: string): Generator<SoakRecord> {
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".jsonl"))) {
    const lines = readFileSync(join(folder, name), "utf8").split("\n");
    for (const line of lines.slice(0, -1)) yield JSON.parse(line) as SoakRecord; // only Recorder writes there
  }
}
