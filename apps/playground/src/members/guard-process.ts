import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ToGuard } from "./guard.ts";

const ENTRY = fileURLToPath(new URL("./guard.js", import.meta.url));

/** The guard as the playground sees it. On disposal it does its work, and ends. */
export class Guard implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  /** @param folder - to be removed at the end */
  constructor(folder: string | null) {
    // a session of its own: what ends the terminal's processes must not end this one first
    this.#process = fork(ENTRY, [], { detached: true, stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.#ended = once(this.#process, "exit");
    if (folder !== null) this.#tell({ type: "folder", folder });
  }

  /** @param pid - 0 of one that could not be started */
  born(pid: number): void {
    if (pid > 0) this.#tell({ type: "born", pid });
  }

  gone(pid: number): void {
    this.#tell({ type: "gone", pid });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.connected) this.#process.disconnect();
    await this.#ended;
  }

  #tell(message: ToGuard): void {
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }
}
