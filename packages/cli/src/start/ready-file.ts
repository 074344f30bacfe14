import { renameSync, rmSync, writeFileSync } from "node:fs";
import { RheoError } from "@rheo/core";

/** A file that is there as long as all consumers run, with the pid in it, for those who wait for that. */
export class ReadyFile {
  readonly #path: string | null;

  /** Removes one that an earlier run left. @throws invalid_option - it cannot be written there */
  constructor(path: string | null) {
    this.#path = path;
    if (path === null) return;
    try {
      this.write();
      this.remove();
    } catch (cause) {
      throw new RheoError(
        "invalid_option",
        `The ready file ${path} cannot be written: ${String(cause)}`,
        { path: "ready-file" },
        { cause },
      );
    }
  }

  /** At once, so that nobody reads half of it. */
  write(): void {
    if (this.#path === null) return;
    writeFileSync(`${this.#path}.new`, `${process.pid}\n`);
    renameSync(`${this.#path}.new`, this.#path);
  }

  remove(): void {
    if (this.#path !== null) rmSync(this.#path, { force: true });
  }
}
