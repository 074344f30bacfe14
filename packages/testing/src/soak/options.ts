import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { FAULT_KINDS, type FaultKind } from "./schedule.ts";

export const HELP = `Usage: npm run chaos -- [options]

Runs consumers in several processes while they, their threads and their server are killed, stopped, blocked, cut off and replaced, and then proves from what every process
wrote down and from the store that nothing was lost, settled twice, or settled under a lost lease.

  --store <url>      a store; "sqlite" (default), "lmdb", "postgres", "redis" and "mongo" make a private one for the run
  --faults <list>    what goes wrong, with commas between (default: all that the store allows):
                       kill         SIGKILL of a process
                       stop         SIGSTOP of a process, and SIGCONT when its leases have run out, or before
                       block        the event loop of a process stands still
                       roll         all processes are replaced, one by one (not on lmdb)
                       orphan       SIGKILL of the parent of the processes
                       thread       handlers end their threads
                       cut          all connections to the server break (private postgres, redis)
                       server-kill  SIGKILL of the server, which comes back (private postgres, redis, mongo)
                       link-down, link-drop-out, link-drop-in, link-slow
                                    the link of one host breaks, loses what goes one way, or is slow (--hosts)
  --hosts <n>        2-16 hosts with a network of their own, --processes on each (Linux, root, iproute2; private servers)
  --minutes <n>      how long (default 1); or
  --seconds <n>
  --processes <n>    2-64 (default 4)
  --seed <n>         what goes wrong, and when (default: a new one, which is printed)
  --pace <n>         how often things go wrong, as a multiple (default 1)
  --rate <n>         events appended per second (default 100)
  --keep             leave what the processes wrote down also when there is no violation
  --json             one JSON document instead of a table

Exit codes: 0 no violation, 1 a violation, 2 wrong usage.`;

export interface SoakFlags {
  readonly store: string;
  readonly durationMs: number;
  readonly processes: number;
  readonly seed: number;
  readonly pace: number;
  readonly perSecond: number;
  readonly keep: boolean;
  readonly json: boolean;
  readonly help: boolean;
  readonly rheo: readonly string[];
  /** Null: all that the store allows. */
  readonly faults: readonly ChosenFault[] | null;
  /** 0: the processes are on this one. */
  readonly hosts: number;
}

/** A fault from outside, or the handlers that end their threads. */
export type ChosenFault = FaultKind | "thread";
const CHOICES: readonly ChosenFault[] = [...FAULT_KINDS, "thread"];

/** What was asked for cannot be done, as the message says. */
export class SoakUsageError extends Error {}

/** @throws SoakUsageError */
export const parseFlags = (args: readonly string[]): SoakFlags => {
  const { values } = parsed(args);
  const durationMs =
    values.seconds === undefined
      ? number("minutes", values.minutes, 1, 0.1, 1_440) * 60_000
      : number("seconds", values.seconds, 60, 5, 86_400) * 1_000;
  return {
    store: values.store ?? "sqlite",
    durationMs,
    processes: number("processes", values.processes, 4, values.hosts === undefined ? 2 : 1, 64),
    seed: number("seed", values.seed, randomInt(1, 2 ** 31), 1, 2 ** 32 - 1),
    pace: number("pace", values.pace, 1, 0.01, 100),
    perSecond: number("rate", values.rate, 100, 1, 10_000),
    keep: values.keep ?? false,
    json: values.json ?? false,
    help: values.help ?? false,
    rheo: [process.execPath, values.rheo ?? findRheo()],
    hosts: values.hosts === undefined ? 0 : number("hosts", values.hosts, 2, 2, 16),
    faults: values.faults === undefined ? null : parseFaults(values.faults),
  };
};

const parseFaults = (text: string): ChosenFault[] => {
  const words = text.split(",").filter((word) => word !== "");
  const chosen = CHOICES.filter((choice) => words.includes(choice));
  const unknown = words.find((word) => !chosen.some((choice) => choice === word));
  if (unknown === undefined && chosen.length > 0) return chosen;
  throw new SoakUsageError(`--faults takes some of ${CHOICES.join(", ")}; got ${JSON.stringify(unknown ?? text)}.`);
};

const parsed = (args: readonly string[]) => {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        store: text,
        faults: text,
        hosts: text,
        minutes: text,
        seconds: text,
        processes: text,
        seed: text,
        pace: text,
        rate: text,
        rheo: text,
        keep: flag,
        json: flag,
        help: flag,
      },
    });
  } catch (error) {
    throw new SoakUsageError(error instanceof Error ? error.message : String(error));
  }
};

const number = (name: string, text: string | undefined, fallback: number, min: number, max: number): number => {
  const value = text === undefined ? fallback : Number(text);
  if (Number.isFinite(value) && value >= min && value <= max) return value;
  throw new SoakUsageError(`--${name} is a number from ${min} to ${max}.`);
};

/** The command of the package `rheo`, as it is installed in the working directory. */
const findRheo = (): string => {
  try {
    const file = createRequire(`${process.cwd()}/`).resolve("rheo/package.json");
    const { bin } = JSON.parse(readFileSync(file, "utf8")) as { readonly bin: { readonly rheo: string } }; // our own
    return join(dirname(file), bin.rheo);
  } catch {
    throw new SoakUsageError(
      'The package "rheo" is not installed here. Run it where it is, or say where its command is: --rheo <path>.',
    );
  }
};
