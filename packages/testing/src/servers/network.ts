/**
 * Hosts of their own, as far as the network can tell: Linux network namespaces behind one bridge, which is in a namespace, too, so that
 * nothing listens anywhere else. A server of this machine is seen from them at one address, and the link of each can be cut, slowed down, or
 * made to lose what goes one way, without a word to either side. Needs root, and `ip`.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * `down`: nothing passes. `drop-out`: what the host sends is lost. `drop-in`: what is sent to it is lost. `slow`: all is late by a second.
 */
export type LinkFault = "down" | "drop-out" | "drop-in" | "slow";

/** Hosts of their own behind links that a test may harm. */
export interface Network {
  /** Where hosts find the server. */
  readonly address: string;
  readonly port: number;
  /** What runs a command on a host, in front of it. */
  on(host: number): readonly string[];
  /** Harms the link of a host, until it is healed. */
  fault(host: number, fault: LinkFault): void;
  /** Undoes all faults of its link. */
  heal(host: number): void;
  /** Removes the namespaces. Whatever still runs there has lost its network. */
  stop(): Promise<void>;
}

export interface RelayOrder {
  readonly peer: string;
  readonly ms: number;
}

const RELAY = fileURLToPath(new URL("./network-relay.js", import.meta.url));
const LATE_MS = 1_000;
/** Of nobody. */
const NOWHERE = "02:00:00:00:00:01";

/** Why there can be no such network here; null when there can. */
export const whyNoNetwork = (): string | null => {
  if (process.platform !== "linux") return "network namespaces are of Linux";
  if (process.getuid?.() !== 0) return "network namespaces need root";
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.some((folder) => existsSync(join(folder, "ip"))) ? null : "the command ip is not installed (iproute2)";
};

/** `hosts` of them, all of which see what listens on `port` of the loopback. @throws when there can be none here */
export const startNetwork = async (hosts: number, port: number): Promise<Network> => {
  const why = whyNoNetwork();
  if (why !== null) throw new Error(`No network can be made: ${why}.`);
  const name = `rheo${process.pid}x${++made}`;
  const folder = mkdtempSync(join(tmpdir(), "rheo-network-"));
  const path = join(folder, "server.sock");
  const door = await relayFrom(path, port);
  const hub = new Namespace(`${name}hub`);
  const members = Array.from({ length: hosts }, (_, index) => new Namespace(`${name}h${index}`));
  const remove = (): void => {
    for (const namespace of [...members, hub]) namespace.remove();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    hub.add();
    hub.ip("link", "add", "bridge", "type", "bridge");
    hub.ip("address", "add", `${HUB}/24`, "dev", "bridge");
    hub.ip("link", "set", "bridge", "up");
    for (const [index, member] of members.entries()) plugIn(hub, member, index);
    const relay = await startRelay(hub, port, path);
    return {
      address: HUB,
      port,
      on: (host) => members[host]?.prefix ?? [],
      fault: (host, fault) => breakLink(hub, members[host], host, fault, relay),
      heal: (host) => healLink(hub, members[host], host, relay),
      stop: async () => {
        relay.kill("SIGKILL");
        await new Promise((resolve) => door.close(resolve));
        remove();
      },
    };
  } catch (error) {
    door.close();
    remove();
    throw error;
  }
};

let made = 0;
const HUB = "10.213.0.1";
const addressOf = (host: number): string => `10.213.0.${host + 2}`;

class Namespace {
  readonly name: string;
  readonly prefix: readonly string[];

  constructor(name: string) {
    this.name = name;
    this.prefix = ["ip", "netns", "exec", name];
  }

  add(): void {
    execFileSync("ip", ["netns", "add", this.name]);
    this.ip("link", "set", "lo", "up");
  }

  ip(...args: readonly string[]): string {
    return execFileSync("ip", ["-n", this.name, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  remove(): void {
    try {
      execFileSync("ip", ["netns", "delete", this.name], { stdio: "ignore" });
    } catch {
      // it was not made
    }
  }
}

/** A cable from a host to the bridge. */
const plugIn = (hub: Namespace, member: Namespace, index: number): void => {
  member.add();
  member.ip("link", "add", "eth0", "type", "veth", "peer", "name", `port${index}`, "netns", hub.name);
  member.ip("address", "add", `${addressOf(index)}/24`, "dev", "eth0");
  member.ip("link", "set", "eth0", "up");
  hub.ip("link", "set", `port${index}`, "master", "bridge", "up");
};

const breakLink = (hub: Namespace, member: Namespace | undefined, host: number, fault: LinkFault, relay: ChildProcess): void => {
  switch (fault) {
    case "down":
      hub.ip("link", "set", `port${host}`, "down");
      return;
    case "drop-out":
      member?.ip("neigh", "replace", HUB, "lladdr", NOWHERE, "dev", "eth0", "nud", "permanent");
      return;
    case "drop-in":
      hub.ip("neigh", "replace", addressOf(host), "lladdr", NOWHERE, "dev", "bridge", "nud", "permanent");
      return;
    case "slow":
      relay.send({ peer: addressOf(host), ms: LATE_MS } satisfies RelayOrder);
      return;
    default:
      return fault satisfies never;
  }
};

const healLink = (hub: Namespace, member: Namespace | undefined, host: number, relay: ChildProcess): void => {
  hub.ip("link", "set", `port${host}`, "up");
  forget(hub, addressOf(host), "bridge");
  if (member !== undefined) forget(member, HUB, "eth0");
  relay.send({ peer: addressOf(host), ms: 0 } satisfies RelayOrder);
};

const forget = (namespace: Namespace, address: string, device: string): void => {
  try {
    namespace.ip("neigh", "del", address, "dev", device);
  } catch {
    // nothing was known
  }
};

/** From a socket in the file system to a port of the loopback. */
const relayFrom = async (path: string, port: number): Promise<Server> => {
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return server;
};

const startRelay = async (hub: Namespace, port: number, path: string): Promise<ChildProcess> => {
  const [program, ...args] = [...hub.prefix, process.execPath];
  const relay = fork(RELAY, [HUB, String(port), path], { execPath: program, execArgv: args });
  await new Promise<void>((resolve, reject) => {
    relay.once("message", () => resolve());
    relay.once("exit", (code) => reject(new Error(`the relay ended with ${code}`)));
  });
  return relay;
};
