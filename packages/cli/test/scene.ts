import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lineage, Rheo } from "@rheo/core";

/** A store with something of everything, on SQLite in a folder of its own or at the URL given. */
export interface Scene extends AsyncDisposable {
  readonly folder: string;
  readonly store: string;
  readonly rheo: Rheo;
}

/** What a terminal must never be sent. */
export const EVIL = "\u001b[2J\u009b31m\u0007\u202e";

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 31, 12, 0, second));

/**
 * Stream "orders" of two partitions: events o1 to o5 in partition 0 and p1, p2 in partition 1; p1 led to p2 and o5. Group "billing": o1 is
 * acked, o2 dead, o3 retrying, o4 leased; all else was not offered. Group "audit" is paused. Stream "empty" has nothing.
 */
export const openScene = async (url?: string): Promise<Scene> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-cli-"));
  const store = url ?? `sqlite:${join(folder, "events.db")}?synchronous=normal`; // a crash of the machine need not be survived
  const rheo = await Rheo.open(store);
  await rheo.createStream("orders", { partitions: 2 });
  await rheo.createStream("empty");
  await rheo.createGroup("orders", "billing", { maxAttempts: 3, leaseMs: 3_600_000 });
  await rheo.createGroup("orders", "audit");
  await rheo.pauseGroup("orders", "audit");
  await rheo.appendMany("orders", [
    { id: "o1", partition: 0, timestamp: at(1), type: "placed", key: "a", payload: { total: 10, currency: "EUR" } },
    { id: "o2", partition: 0, timestamp: at(2), type: "placed", key: "b", payload: { total: 20, currency: "USD" } },
    { id: "o3", partition: 0, timestamp: at(3), type: "paid", key: "a", payload: { total: 10, note: EVIL } },
    { id: "o4", partition: 0, timestamp: at(4), type: "paid", key: "42", payload: { total: 42, currency: "EUR" } },
    { id: "p1", partition: 1, timestamp: at(5), type: "placed", key: "c", payload: { total: 3 } },
    {
      id: "p2",
      partition: 1,
      timestamp: at(6),
      type: "paid",
      payload: 7,
      metadata: lineage({ correlationId: "p1", causationId: "p1" }),
    },
    {
      id: "o5",
      partition: 0,
      timestamp: at(7),
      type: "sent",
      payload: null,
      metadata: lineage({ correlationId: "p1", causationId: "p2" }),
    },
  ]);
  const leases = await rheo.fetch("orders", "billing", { limit: 4, partitions: [0], consumerId: "worker-1" });
  const [first, second, third] = leases;
  if (first === undefined || second === undefined || third === undefined) throw new Error("The scene is not as it should be.");
  await rheo.ack(first);
  await rheo.reject(second, { reason: `card refused ${EVIL}` });
  await rheo.nack(third, { reason: "busy", delayMs: 3_600_000 });
  return {
    folder,
    store,
    rheo,
    [Symbol.asyncDispose]: async () => {
      await rheo.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};

/** Text with what differs from run to run taken out: ages become AGE, and spaces between columns become two. */
export const steady = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \([^)]*\)/g, "TIME")
    .replace(/(in )?\b[\d.]+(ms|s|m|h|d)( ago)?\b/g, "AGE")
    .replace(/(?<=\S) {2,}/g, "  ");

/** The lines of a template that begins and ends with a line of its own, without their common indent. */
export const lines = (text: string): string => {
  const given = text
    .replace(/^\n/, "")
    .replace(/\n\s*$/, "\n")
    .split("\n");
  const indent = Math.min(...given.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length));
  return given.map((line) => line.slice(indent)).join("\n");
};
