/**
 * Rheo in memory: for tests, demos and what may be lost. It is also the reference that the other backends are compared with.
 *
 * ```ts
 * const rheo = await Rheo.open({ backend: memory() });
 * ```
 */
import type { Backend } from "@rheo/core";
import { parseOptions } from "@rheo/core/internal";
import { MemoryBackend } from "./backend.ts";

/** Options of {@link memory}: there are none. */
export type MemoryOptions = Readonly<Record<never, never>>;

/**
 * A store in the memory of this process. It lives as long as this object: several instances opened with the same one share it,
 * as several processes share a database.
 * @throws invalid_option
 */
export const memory = (options: MemoryOptions = {}): Backend => {
  parseOptions("memory", options, []);
  return new MemoryBackend();
};

/** For `Rheo.open("memory:")`. */
export const fromUrl = (_url: string): Backend => memory();
