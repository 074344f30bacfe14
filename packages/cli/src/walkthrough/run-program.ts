import { execFile } from "node:child_process";

/** How a child process is run. */
export interface ProgramOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** It is killed after so long. */
  readonly timeoutMs: number;
}

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  /** Null when a signal ended it. */
  readonly code: number | null;
}

/** What a page prints is read by people: more than this is a mistake. */
const MAX_BYTES = 4 * 1_024 * 1_024;

/** Runs Node with these arguments, until it ends. @throws AbortError - the signal has aborted, and the process is gone */
export const runProgram = (args: readonly string[], { timeoutMs, ...options }: ProgramOptions): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      args,
      { ...options, timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: MAX_BYTES },
      (error, stdout, stderr) => {
        if (error?.name !== "AbortError") return resolve({ stdout, stderr, code: child.exitCode });
        const abort = (): void => reject(error);
        if (child.exitCode === null && child.signalCode === null) child.once("exit", abort);
        else abort();
      },
    );
  });
