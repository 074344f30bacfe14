/** What a process keeps in mind between operations. All of it may be lost: it costs a read, a write or some fairness. */
import { progress } from "@rheo/core/internal";
import type { StoredGroup } from "./catalog.ts";

/** Groups, and members of each, that are remembered before all are forgotten. */
const KEPT = 10_000;
/** A member's record is written at most this often, in ms. */
const TOUCH_EVERY_MS = 1_000;

/** Which group a name stands for. Ids are never used again, so one that is gone is noticed. */
class Groups {
  readonly #known = new Map<string, StoredGroup>();

  get(stream: string, name: string): StoredGroup | undefined {
    return this.#known.get(`${stream}/${name}`);
  }

  put(stream: string, name: string, group: StoredGroup): void {
    if (this.#known.size >= KEPT) this.#known.clear();
    this.#known.set(`${stream}/${name}`, group);
  }

  forget(stream: string, name: string): void {
    this.#known.delete(`${stream}/${name}`);
  }
}

export class Memory {
  readonly groups: Groups = new Groups();
  readonly #streamNames = new Map<number, string>();
  readonly #turns = new Map<number, progress.Turn>();
  readonly #touches = new Map<string, number>();

  /** Null: not met yet. */
  streamName(stream: number): string | null {
    return this.#streamNames.get(stream) ?? null;
  }

  metStream(stream: number, name: string): void {
    if (this.#streamNames.size >= KEPT) this.#streamNames.clear();
    this.#streamNames.set(stream, name);
  }

  turn(group: number): progress.Turn {
    return this.#turns.get(group) ?? progress.newTurn();
  }

  putTurn(group: number, turn: progress.Turn): void {
    if (this.#turns.size >= KEPT) this.#turns.clear();
    this.#turns.set(group, turn);
  }

  /** Whether this process wrote that member down just now. */
  isFresh(group: number, consumerId: string, nowMs: number): boolean {
    const lastMs = this.#touches.get(`${group}/${consumerId}`);
    return lastMs !== undefined && nowMs >= lastMs && nowMs - lastMs < TOUCH_EVERY_MS;
  }

  isKnown(group: number, consumerId: string): boolean {
    return this.#touches.has(`${group}/${consumerId}`);
  }

  touched(group: number, consumerId: string, nowMs: number): void {
    if (this.#touches.size >= KEPT) this.#touches.clear();
    this.#touches.set(`${group}/${consumerId}`, nowMs);
  }
}
