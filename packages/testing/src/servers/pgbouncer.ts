/** A private pgbouncer in transaction mode in front of a PostgreSQL server; from the machine's own binary. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { answers, freePort } from "./ports.ts";

const UNPRIVILEGED = 65_534;
const START_MS = 10_000;
const PLACES = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];

/** Path of the binary, or null. */
export const findPgbouncer = (): string | null => PLACES.find((path) => existsSync(path)) ?? null;

/** A private pgbouncer of a test. */
export interface Pooler {
  readonly url: string;
  /** Ends it and removes its folder. Idempotent. */
  stop(): Promise<void>;
}

/** `serverConnections`: how many the pooler may hold to the server. */
export const startPgbouncer = async (port: number, serverConnections = 2): Promise<Pooler> => {
  const binary = findPgbouncer();
  if (binary === null) throw new Error("pgbouncer is not installed (Debian: apt-get install pgbouncer).");
  const folder = await mkdtemp(join(tmpdir(), "rheo-pgbouncer-"));
  const listen = await freePort();
  const config = join(folder, "pgbouncer.ini");
  await writeFile(config, configFor(folder, port, listen, serverConnections));
  await writeFile(join(folder, "users.txt"), '"postgres" ""\n');
  const root = process.getuid?.() === 0;
  if (root) for (const path of [folder, config, join(folder, "users.txt")]) await chown(path, UNPRIVILEGED, UNPRIVILEGED);
  const child = spawn(binary, [config], { stdio: "ignore", ...(root ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}) });
  await listening(child, listen);
  return {
    url: `postgres://postgres@127.0.0.1:${listen}/postgres`,
    stop: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      if (child.exitCode === null && child.kill("SIGTERM")) await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const configFor = (folder: string, port: number, listen: number, serverConnections: number): string => `[databases]
* = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = ${serverConnections}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
logfile = ${join(folder, "pgbouncer.log")}
pidfile = ${join(folder, "pgbouncer.pid")}
`;

const listening = async (child: ChildProcess, port: number): Promise<void> => {
  const endMs = performance.now() + START_MS;
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > endMs) throw new Error("pgbouncer did not start.");
    await sleep(20);
  }
};
