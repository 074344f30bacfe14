/** The store of a run, and what can be done to its server. What was made for the run goes with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startMongo } from "../servers/mongo.ts";
import { type Network, startNetwork, whyNoNetwork } from "../servers/network.ts";
import { startPostgres } from "../servers/postgres.ts";
import { startProxy } from "../servers/proxy.ts";
import { startRedis } from "../servers/redis.ts";
import { type ChosenFault, SoakUsageError } from "./options.ts";
import { FAULT_KINDS } from "./schedule.ts";

export interface Place {
  /** For who looks on. */
  readonly url: string;
  /** For the processes. */
  readonly processUrl: string;
  /** Null: the processes are on this host. */
  readonly network: Network | null;
  /** Faults that make sense here. */
  readonly possible: readonly ChosenFault[];
  /** Only one process may open it: it appends, too, and nobody can look in meanwhile. */
  readonly hasOneOwner: boolean;
  cut(): void;
  killServer(awayMs: number): Promise<void>;
  close(): Promise<void>;
}

/** What the private servers have in common. */
interface Server {
  readonly port: number;
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const SHARED: readonly ChosenFault[] = ["kill", "stop", "block", "roll", "orphan", "thread"];
const LINKS: readonly ChosenFault[] = FAULT_KINDS.filter((kind) => kind.startsWith("link-"));

/** @throws SoakUsageError - hosts that cannot be had here */
export const openPlace = async (store: string, hosts: number): Promise<Place> => {
  const why =
    hosts === 0
      ? null
      : ["postgres", "redis"].includes(store)
        ? whyNoNetwork()
        : "they are for the private servers of postgres and redis";
  if (why !== null) throw new SoakUsageError(`--hosts cannot be had here: ${why}.`);
  switch (store) {
    case "sqlite":
      return inFolder((folder) => `sqlite:${join(folder, "events.db")}`, SHARED, false);
    case "lmdb":
      return inFolder(
        (folder) => `lmdb:${join(folder, "events")}`,
        SHARED.filter((kind) => kind !== "roll"),
        true,
      );
    case "postgres": {
      const server = await startPostgres();
      return await behindProxy(server, hosts, (at) => `postgres://postgres@${at}/postgres`);
    }
    case "redis": {
      // with everysec a killed server loses what it acknowledged while its disk was slow
      const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "no" } });
      return await behindProxy(server, hosts, (at) => `redis://${at}`);
    }
    case "mongo": {
      const server = await startMongo();
      if (server.real) return given(server.url);
      // without a proxy: the driver goes to the address that the server gives
      const url = server.url.replace("/?", "/soak?");
      return {
        ...given(url),
        possible: [...SHARED, "server-kill"],
        killServer: (awayMs) => killFor(server, awayMs),
        close: () => server.stop(),
      };
    }
    default:
      return given(store);
  }
};

/** The faults that a run has. @throws SoakUsageError - one that this store cannot have */
export const chosenFaults = (place: Place, asked: readonly ChosenFault[] | null): readonly ChosenFault[] => {
  const impossible = asked?.find((kind) => !place.possible.includes(kind));
  if (impossible === undefined) return asked ?? place.possible;
  throw new SoakUsageError(`This store cannot have ${JSON.stringify(impossible)}; it can have ${place.possible.join(", ")}.`);
};

const NO_SERVER = { cut: () => undefined, killServer: () => Promise.resolve() };

const given = (url: string): Place => ({
  url,
  processUrl: url,
  network: null,
  possible: url.startsWith("lmdb:") ? SHARED.filter((kind) => kind !== "roll") : SHARED,
  hasOneOwner: url.startsWith("lmdb:"),
  ...NO_SERVER,
  close: () => Promise.resolve(),
});

const inFolder = (urlIn: (folder: string) => string, possible: readonly ChosenFault[], hasOneOwner: boolean): Place => {
  const folder = mkdtempSync(join(tmpdir(), "rheo-soak-store-"));
  const url = urlIn(folder);
  return {
    url,
    processUrl: url,
    network: null,
    possible,
    hasOneOwner,
    ...NO_SERVER,
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
};

const killFor = async (server: Server, awayMs: number): Promise<void> => {
  await server.kill();
  await sleep(awayMs);
  await server.restart();
};

const behindProxy = async (server: Server, hosts: number, urlAt: (at: string) => string): Promise<Place> => {
  const proxy = await startProxy(server.port);
  const network = hosts === 0 ? null : await startNetwork(hosts, proxy.port);
  const url = urlAt(`127.0.0.1:${proxy.port}`);
  return {
    url,
    processUrl: network === null ? url : urlAt(`${network.address}:${network.port}`),
    network,
    possible: [...SHARED, "cut", "server-kill", ...(network === null ? [] : LINKS)],
    hasOneOwner: false,
    cut: () => proxy.cut(),
    killServer: (awayMs) => killFor(server, awayMs),
    close: async () => {
      await network?.stop();
      await proxy.stop();
      await server.stop();
    },
  };
};
