/**
 * The memory of slices, a megabyte each. Processes that are killed give none back, and to ask the system for more takes longer than what
 * is done in it: so what a seed had serves the next ones.
 */
import { SliceMemory } from "@rheo/runtime/internal";

const idle: SliceMemory[] = [];

export class Memories {
  readonly #taken: SliceMemory[] = [];

  take(): SliceMemory {
    const memory = idle.pop() ?? new SliceMemory();
    this.#taken.push(memory);
    return memory;
  }

  /** For when nothing of this seed runs any more. */
  giveBack(): void {
    idle.push(...this.#taken.splice(0));
  }
}
