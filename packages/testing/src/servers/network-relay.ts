/**
 * Run inside of a network namespace: takes connections on an address there, and passes them on to a socket in the file system, which
 * namespaces share. Told by its parent, it holds what comes and goes of one peer back for a while.
 */
import { connect, createServer, type Socket } from "node:net";
import type { RelayOrder } from "./network.ts";

const [address = "", port = "", path = ""] = process.argv.slice(2);
/** By the address of a peer: by how many ms what passes is late. */
const lateMs = new Map<string, number>();

/** In order, whatever the delay was when a chunk came. */
const pipeLate = (from: Socket, to: Socket, peer: string): void => {
  const waiting: { readonly atMs: number; readonly chunk: Buffer }[] = [];
  const pass = (): void => {
    while (waiting[0] !== undefined && waiting[0].atMs <= performance.now()) to.write(waiting.shift()?.chunk ?? "");
    if (waiting[0] !== undefined) setTimeout(pass, Math.max(1, waiting[0].atMs - performance.now()));
  };
  from.on("data", (chunk) => {
    waiting.push({ atMs: performance.now() + (lateMs.get(peer) ?? 0), chunk });
    if (waiting.length === 1) pass();
  });
};

const server = createServer((client) => {
  const peer = client.remoteAddress ?? "";
  const upstream = connect(path);
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    pipeLate(one, other, peer);
    one.on("error", () => other.destroy());
    one.on("close", () => other.destroy());
  }
});

server.listen(Number(port), address, () => process.send?.("ready"));
process.on("message", ({ peer, ms }: RelayOrder) => void lateMs.set(peer, ms));
process.on("disconnect", () => process.exit(0));
