import type { Place } from "../group/ledger.ts";
import type { RunningTask } from "./pool.ts";
import type { SessionGate, SliceMemory } from "./protocol.ts";
import type { Slice } from "./slice.ts";
import type { Opened } from "./slots.ts";

/** The main side of a session: the slices that are out with one thread, all of one group. */
export class Session {
  readonly id: number;
  readonly gate: SessionGate;
  /** Where its gate lies. */
  readonly gateMemory: SliceMemory;
  readonly running: RunningTask;
  /** Handlers at once. */
  readonly limit: number;
  readonly openedAtMs: number;
  /** One delivery that is tried alone, since it ran beside others when a thread died: nothing is added to it. */
  readonly suspect: Suspect | null;
  /** Of which not all has been heard. */
  readonly slices: Set<Slice> = new Set();
  /** Memories that the thread may still look into. */
  readonly retired: SliceMemory[] = [];
  /** The thread asked for more, and was not given any since. */
  isHungry = false;
  /** Set when we ended its thread. */
  killed = false;
  /** Slices announced at the gate. */
  announced = 1;

  constructor(
    opened: Pick<Opened, "id" | "gate" | "running" | "slice">,
    limit: number,
    openedAtMs: number,
    suspect: Suspect | null,
  ) {
    this.id = opened.id;
    this.gate = opened.gate;
    this.gateMemory = opened.slice.memory;
    this.running = opened.running;
    this.limit = limit;
    this.openedAtMs = openedAtMs;
    this.suspect = suspect;
  }

  /** Handlers that could begin now if there were anything for them. */
  get idle(): number {
    let out = 0;
    for (const slice of this.slices) out += slice.out;
    return Math.max(0, this.limit - out);
  }

  get isDone(): boolean {
    for (const slice of this.slices) if (!slice.isDone) return false;
    return true;
  }
}

/** A delivery that ran when its thread died, and may or may not be what it died of. */
export interface Suspect {
  readonly place: Place;
  /** Names the call that it was part of: the deliveries of one run share it. */
  readonly call: string;
}
