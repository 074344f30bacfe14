/**
 * A private double of a MongoDB server: a process of its own on a free port of the loopback that speaks the wire protocol to the official
 * driver, since no package registry carries a mongod. It says that it is MongoDB 7.0, primary of a replica set of one node.
 *
 * What tests against it prove: commands, their options and answers; filters, updates, sort orders and kinds of numbers as documented;
 * unique, compound, sparse and partial indexes; transactions with snapshot isolation, write conflicts (112), unique conflicts with what
 * others have not committed, commits and retryable writes asked for again, lifetimes; change streams that are resumed; that a killed server
 * keeps what it acknowledged and nothing else; and what the client does when answers are lost, late, refused, or the primary steps down.
 *
 * What they do not prove: anything of several nodes (elections, rollback of what no majority had, stale secondaries, write concerns beyond
 * one node, lag); when exactly a storage engine conflicts, since one thread runs a statement whole, where the server yields between
 * documents; speed, memory and cache pressure; which index a planner takes; authentication, TLS, sharding; collations, hints, TTL,
 * capped and time series collections, views, text and geo queries. What it does not know it refuses, and never ignores.
 * `RHEO_TEST_MONGODB_URL` names a real replica set instead.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endWithProcess } from "./end-with-process.ts";
import { freePort } from "./ports.ts";

const START_MS = 30_000;

/** What befalls commands of a client; never those by which its driver watches the server, unless they are named. */
export interface MongoFault {
  /**
   * `conflict`: a command in a transaction is refused as a write conflict, which ends the transaction. `dropAnswer`: it is done, and the
   * connection cut instead of an answer. `dropCommand`: the connection is cut before it is done. `delay`: it is done later. `error`: it
   * is refused with `code`.
   */
  readonly kind: "conflict" | "dropAnswer" | "dropCommand" | "delay" | "error";
  /** Of which commands, such as `commitTransaction`; default all. */
  readonly command?: string;
  /** How often; default once, or for ever when there is a `probability`. */
  readonly times?: number;
  /** From 0 to 1, default 1. */
  readonly probability?: number;
  /** Of the random numbers; default 1. */
  readonly seed?: number;
  readonly delayMs?: number;
  readonly code?: number;
}

/** Where the server's clock stands: ahead of the machine's, or still. */
export type MongoTime = { readonly offsetMs: number } | { readonly atMs: number };

/** Of a real server only `url` and `stop` are of use: all else throws. */
export interface MongoServer {
  readonly url: string;
  readonly port: number;
  /** Whether it is a real server, named by `RHEO_TEST_MONGODB_URL`. */
  readonly real: boolean;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. Faults, clock and lifetime are as at first. */
  restart(): Promise<void>;
  /** SIGSTOP: it takes connections, and answers nothing. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** The next commands that it fits meet this. */
  addFault(fault: MongoFault): Promise<void>;
  /** Calls off all that were added. */
  clearFaults(): Promise<void>;
  /** It is no primary for so long, and open transactions are lost. */
  stepDown(forMs: number): Promise<void>;
  /** Moves its clock. */
  setTime(time: MongoTime): Promise<void>;
  /** How long a transaction may be open from then on; default 60 s, as `transactionLifetimeLimitSeconds`. */
  setLifetime(lifetimeMs: number): Promise<void>;
  /** How many transactions are open now. */
  openTransactions(): Promise<number>;
  /** Ends it and removes its files. Idempotent. */
  stop(): Promise<void>;
}

/** How `startMongo` starts its server. */
export interface MongoServerOptions {
  /** Whether each commit is flushed to the disk before it is answered; default false: what is written survives a kill of the process anyway. */
  readonly sync?: boolean;
}

/** @throws when it does not start */
export const startMongo = async ({ sync = false }: MongoServerOptions = {}): Promise<MongoServer> => {
  const url = process.env.RHEO_TEST_MONGODB_URL;
  if (url !== undefined && url !== "") return realServer(url);
  const folder = await mkdtemp(join(tmpdir(), "rheo-mongo-"));
  const port = await freePort();
  const args = [MAIN, String(port), join(folder, "journal"), ...(sync ? ["sync"] : [])];
  let server = await launch(args);
  let stopped = false;
  const kill = async (): Promise<void> => {
    server.kill("SIGKILL");
    await ended(server);
  };
  return {
    url: `mongodb://127.0.0.1:${port}/?replicaSet=rs0`,
    port,
    real: false,
    kill,
    restart: async () => {
      server = await launch(args);
    },
    pause: () => void server.kill("SIGSTOP"),
    resume: () => void server.kill("SIGCONT"),
    ...controls(port),
    stop: async () => {
      if (stopped) return;
      stopped = true;
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** Built, also where this file is run as it is. */
const MAIN = fileURLToPath(new URL("../../dist/servers/mongo/main.js", import.meta.url));

type Controls = Pick<MongoServer, "addFault" | "clearFaults" | "stepDown" | "setTime" | "setLifetime" | "openTransactions">;

const controls = (port: number): Controls => {
  // loaded when it is needed: who starts other servers need not have bson
  const control = async (action: string, value: unknown = null): Promise<unknown> => {
    const { ask } = await import("./mongo/wire/ask.ts");
    return (await ask(port, { rheoDouble: action, value, $db: "admin" })).count;
  };
  return {
    addFault: async (fault) => void (await control("fault", { ...fault })),
    clearFaults: async () => void (await control("clearFaults")),
    stepDown: async (forMs) => void (await control("stepDown", forMs)),
    setTime: async (time) => void (await control("time", { ...time })),
    setLifetime: async (lifetimeMs) => void (await control("lifetime", lifetimeMs)),
    openTransactions: async () => Number(await control("openTransactions")),
  };
};

const launch = async (args: readonly string[]): Promise<ChildProcess> => {
  const server = spawn(process.execPath, [...args], { stdio: ["ignore", "pipe", "pipe"] });
  endWithProcess(server);
  let log = "";
  server.stderr.on("data", (chunk) => (log = `${log}${chunk}`.slice(-4_000)));
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => server.kill("SIGKILL"), START_MS);
    server.stdout.once("data", resolve);
    server.once("exit", () => reject(new Error(`The double of MongoDB did not start: ${log}`)));
    server.once("exit", () => clearTimeout(late));
    server.stdout.once("data", () => clearTimeout(late));
  });
  return server;
};

const ended = (server: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null) resolve();
    else server.once("exit", () => resolve());
  });

const realServer = (url: string): MongoServer => {
  const refuse = (): never => {
    throw new Error("A server named by RHEO_TEST_MONGODB_URL is not the test's own: it cannot be stopped or disturbed.");
  };
  return {
    url,
    port: 0,
    real: true,
    kill: refuse,
    restart: refuse,
    pause: refuse,
    resume: refuse,
    addFault: refuse,
    clearFaults: refuse,
    stepDown: refuse,
    setTime: refuse,
    setLifetime: refuse,
    openTransactions: refuse,
    stop: () => Promise.resolve(),
  };
};
