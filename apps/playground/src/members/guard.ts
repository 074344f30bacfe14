/**
 * Outlives the playground for a moment, however that ends: kills the members that are left, and removes the temporary folder. A member
 * that is frozen cannot see by itself that its parent is gone.
 */
import { rmSync } from "node:fs";

/** What the guard is told. */
export type ToGuard =
  | { readonly type: "folder"; readonly folder: string }
  | { readonly type: "born" | "gone"; readonly pid: number };

const pids = new Set<number>();
let folder: string | null = null;

process.on("message", (given) => {
  const message = given as ToGuard; // the playground sends nothing else
  if (message.type === "folder") folder = message.folder;
  else if (message.type === "born") pids.add(message.pid);
  else pids.delete(message.pid);
});
process.on("disconnect", () => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it has ended meanwhile
    }
  }
  if (folder !== null) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.exit();
});
// The end of the playground is what it waits for, not a signal to the whole terminal
for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => undefined);
