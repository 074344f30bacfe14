import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** The next thing that a process tells; one that ends instead is an error. */
export const told = async (child: ChildProcess): Promise<unknown> => {
  const ended = once(child, "exit").then(() => {
    throw new Error(`a process that was to be measured ended: ${child.spawnargs.join(" ")}`);
  });
  const [message]: unknown[] = await Promise.race([once(child, "message"), ended]);
  return message;
};

/** Ends it, if it has not ended. */
export const endChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill();
  await ended;
};
