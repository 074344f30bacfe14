/**
 * A private Redis or Valkey server: in a folder of its own, on a free port of the loopback, from the machine's own binary. It is started,
 * paused, killed, restarted and ended by pid.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endWithProcess } from "./end-with-process.ts";
import { freePort } from "./ports.ts";
import { redisCommand } from "./redis-command.ts";

const START_MS = 30_000;
const STOP_MS = 10_000;
const ASK_AGAIN_MS = 100;
const ANSWER_MS = 1_000;
const BINARIES = ["redis-server", "valkey-server"];

/** Path of the binary, or null. */
export const findRedis = (): string | null => {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return BINARIES.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync) ?? null;
};

/** A private Redis server of a test. */
export interface RedisServer {
  /** For the default user, who needs no password unless `settings` ask for one. */
  readonly url: string;
  readonly port: number;
  /** Where it keeps its files. */
  readonly folder: string;
  /** SIGKILL, as a crash of the machine would look but that the page cache survives. */
  kill(): Promise<void>;
  /** SIGSTOP: it takes connections, and answers nothing. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** Starts it again after `kill`, on the same port and data. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. Idempotent. */
  stop(): Promise<void>;
}

/** How a private Redis server is started. */
export interface RedisServerOptions {
  /** Directives of redis.conf, such as `{ appendonly: "yes" }`; several values are separated by spaces. Nothing is persisted by default. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Port of a master of which it is a replica: it is waited for until it has its data. */
  readonly replicaOf?: number;
}

/** @throws when there is no binary, saying how to get one */
export const startRedis = async ({ settings = {}, replicaOf }: RedisServerOptions = {}): Promise<RedisServer> => {
  const binary = findRedis();
  if (binary === null)
    throw new Error("Neither redis-server nor valkey-server is installed (Debian: apt-get install redis-server).");
  const folder = await mkdtemp(join(tmpdir(), "rheo-redis-"));
  const port = await freePort();
  const directives = {
    bind: "127.0.0.1",
    port: String(port),
    dir: folder,
    save: "",
    // replicas get their data at once
    "repl-diskless-sync-delay": "0",
    ...(replicaOf === undefined ? {} : { replicaof: `127.0.0.1 ${replicaOf}` }),
    ...settings,
  };
  const args = Object.entries(directives).flatMap(([name, value]) => [`--${name}`, ...value.split(" ")]);
  let server = await launchRedis(binary, args, port);
  if (replicaOf !== undefined) await following(port);
  let stopped = false;
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    folder,
    kill: async () => {
      server.kill("SIGKILL");
      await ended(server);
    },
    pause: () => void server.kill("SIGSTOP"),
    resume: () => void server.kill("SIGCONT"),
    restart: async () => {
      server = await launchRedis(binary, args, port);
    },
    stop: async () => {
      if (stopped) return;
      stopped = true;
      await endServer(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** Starts a server and waits until it has loaded its data and serves. */
export const launchRedis = async (binary: string, args: readonly string[], port: number): Promise<ChildProcess> => {
  const server = spawn(binary, args, { stdio: ["ignore", "pipe", "pipe"] });
  endWithProcess(server);
  let log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (chunk) => (log = `${log}${chunk}`.slice(-4_000)));
  const endMs = performance.now() + START_MS;
  while (!(await serves(port))) {
    if (server.exitCode !== null || performance.now() > endMs) {
      server.kill("SIGKILL");
      throw new Error(`The Redis server did not start: ${log}`);
    }
    await sleep(10);
  }
  return server;
};

const following = async (port: number): Promise<void> => {
  const endMs = performance.now() + START_MS;
  while (!/^master_link_status:up/m.test(await redisCommand(port, "INFO", "replication"))) {
    if (performance.now() > endMs) throw new Error("The replica did not get its data.");
    await sleep(10);
  }
};

/** Whether a server there answers a PING with PONG, or by asking for a password. */
const serves = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(ANSWER_MS, () => end(false));
    socket.once("connect", () => socket.write("PING\r\n"));
    socket.once("data", (chunk) => end(/^(\+PONG|-NOAUTH)/.test(chunk.toString())));
    socket.once("error", () => end(false));
  });

/** Ends a server, also one that is stopped, and waits until it is gone; one that does not end is killed. */
export const endServer = async (server: ChildProcess): Promise<void> => {
  // one that is stopped could not end
  server.kill("SIGCONT");
  server.kill("SIGTERM");
  // one that is just writing its first append-only file says that it cannot end now
  const again = setInterval(() => server.kill("SIGTERM"), ASK_AGAIN_MS);
  const late = setTimeout(() => server.kill("SIGKILL"), STOP_MS);
  await ended(server);
  clearInterval(again);
  clearTimeout(late);
};

const ended = (server: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null) resolve();
    else server.once("exit", () => resolve());
  });
