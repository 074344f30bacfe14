/** What a process remembers between calls. Losing it costs fairness and a few writes, never correctness. */
import { progress } from "@rheo/core/internal";
import type { Touches } from "./tables/members.ts";

/** Groups remembered before all are forgotten. */
const GROUPS_KEPT = 10_000;

export class Memory {
  /** When each member was last written. */
  readonly touches: Touches = new Map();
  readonly #turns = new Map<number, progress.Turn>();

  /** Whose turn it is among the partitions of a group. */
  turn(groupId: number): progress.Turn {
    const known = this.#turns.get(groupId);
    if (known !== undefined) return known;
    if (this.#turns.size >= GROUPS_KEPT) this.#turns.clear();
    const turn = progress.newTurn();
    this.#turns.set(groupId, turn);
    return turn;
  }

  forget(groupId: number): void {
    this.#turns.delete(groupId);
    this.touches.delete(groupId);
  }
}
