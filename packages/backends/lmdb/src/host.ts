/** What tells this process from every other: of this boot, of another one, in another container. */
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, as the system says it: a later process with its id has another. Null where the system does not say. */
  readonly start: string | null;
  /** Which boot of the machine. Null where the system does not say. */
  readonly boot: string | null;
  /** Which numbering of processes its id belongs to: containers have their own. Null where there is but one. */
  readonly space: string | null;
}

export const thisProcess = (): ProcessIdentity => ({
  pid: process.pid,
  start: startOf(process.pid),
  boot: bootId(),
  space: pidSpace(),
});

/** Whether a process with that id lives here, and is the one that was meant. */
export const isAlive = ({ pid, start }: ProcessIdentity): boolean => {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // it lives, but is somebody else's
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  const now = startOf(pid);
  return start === null || now === null || now === start;
};

/** Which boot of this machine; null where the system does not say. */
export const bootId = (): string | null => orNull(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());

const pidSpace = (): string | null => orNull(() => readlinkSync("/proc/self/ns/pid"));

const startOf = (pid: number): string | null => {
  if (process.platform === "linux") return orNull(() => startInStat(readFileSync(`/proc/${pid}/stat`, "latin1")));
  if (process.platform === "win32") return null;
  return orNull(() => execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || null);
};

/** Field 22 of /proc/PID/stat, in clock ticks since the boot. The second field may hold anything, but ends with the last parenthesis. */
const startInStat = (stat: string): string | null => stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;

const orNull = <Value>(read: () => Value | null): Value | null => {
  try {
    return read();
  } catch {
    return null;
  }
};
