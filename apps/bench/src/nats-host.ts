/** The NATS server of a run, with JetStream: a private one from the machine's own binary, or one that is there. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { answers, endServer, endWithProcess, freePort } from "@rheo/testing/servers";
import type { Scratch } from "./scratch.ts";

const START_MS = 10_000;
const LOOK_MS = 20;
const BINARY = "nats-server";
/** Where distributions put what only an administrator starts. */
const ADMIN_FOLDERS = ["/usr/sbin", "/usr/local/sbin"];

/** Path of the binary, or null. */
export const findNats = (): string | null => {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...ADMIN_FOLDERS];
  return folders.map((folder) => join(folder, BINARY)).find(existsSync) ?? null;
};

interface PrivateServer {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

export class NatsHost {
  readonly version: string;
  readonly #url: string;
  readonly #admin: NatsConnection;
  readonly #server: PrivateServer | null;
  readonly #undropped = new Set<() => Promise<void>>();
  #made = 0;
  #stopping: Promise<void> | null = null;

  /** `url`: a server that is there, with JetStream. Null: a private one. */
  static async start(url: string | null): Promise<NatsHost> {
    const server = url === null ? await launch() : null;
    const at = url ?? server?.url ?? "";
    try {
      return new NatsHost(at, await connect({ servers: at }), server);
    } catch (error) {
      await server?.stop();
      throw error;
    }
  }

  private constructor(url: string, admin: NatsConnection, server: PrivateServer | null) {
    this.#url = url;
    this.#admin = admin;
    this.#server = server;
    this.version = admin.info?.version ?? "unknown";
  }

  /** A name for a stream. */
  scratch(): Scratch {
    const name = `rheo_bench_${process.pid}_${++this.#made}`;
    const drop = async (): Promise<void> => {
      this.#undropped.delete(drop);
      const manager = await jetstreamManager(this.#admin);
      await manager.streams.delete(name).catch(() => undefined); // it may never have been made
    };
    this.#undropped.add(drop);
    return { url: this.#url, name, drop };
  }

  /** Removes what was made, and stops the server if it is private. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    if (this.#server === null) for (const drop of [...this.#undropped]) await drop();
    await this.#admin.close();
    await this.#server?.stop();
  }
}

const launch = async (): Promise<PrivateServer> => {
  const binary = findNats();
  if (binary === null) throw new Error("nats-server is not installed (Debian: apt-get install nats-server)");
  const folder = await mkdtemp(join(tmpdir(), "rheo-nats-"));
  const port = await freePort();
  const server = spawn(binary, ["-js", "-a", "127.0.0.1", "-p", String(port), "-sd", folder], { stdio: "ignore" });
  endWithProcess(server);
  await listening(server, port);
  const stop = async (): Promise<void> => {
    await endServer(server);
    await rm(folder, { recursive: true, force: true });
  };
  return { url: `nats://127.0.0.1:${port}`, stop };
};

const listening = async (server: ChildProcess, port: number): Promise<void> => {
  let failure: unknown = null;
  once(server, "exit").then(
    ([code]) => (failure = new Error(`nats-server ended with ${code}`)),
    (error) => (failure = error),
  );
  const endMs = performance.now() + START_MS;
  while (!(await answers(port))) {
    if (failure !== null) throw failure;
    if (performance.now() > endMs) throw new Error("nats-server did not start");
    await sleep(LOOK_MS);
  }
};
