/**
 * A member of the group: a process of its own that opens the store, fetches, handles and acks. `consume` is the loop that any
 * consumer of yours would have; all else here lets the parent stop it on a given line.
 */
import { type Event, FrozenClock, type Lease, Rheo } from "@rheo/core";
import { ack } from "./late-ack.ts";
import type { Answer, Command, GroupName, Request } from "./messages.ts";
import type { KillPoint } from "./points.ts";

type Reach = (point: KillPoint, lease: Lease) => Promise<void>;

const consume = async (rheo: Rheo, consumerId: string, { stream, group }: GroupName, reach: Reach): Promise<void> => {
  const [lease] = await rheo.fetch(stream, group, { consumerId, limit: 1 });
  if (lease === undefined) throw new Error("There was nothing to fetch.");
  await reach("after-fetch", lease);
  await handle(lease.event, () => reach("in-handler", lease));
  await reach("after-handler", lease);
  const acked = rheo.ack(lease);
  void reach("in-ack", lease); // not awaited: the ack goes on while the parent kills
  await acked;
  await reach("after-ack", lease);
};

/** Stands for your work. */
const handle = async (_event: Event, middle: () => Promise<void>): Promise<void> => {
  await middle();
};

/** One open store, under one member's name. */
interface Session {
  readonly rheo: Rheo;
  readonly clock: FrozenClock | null;
  readonly consumerId: string;
}

let session: Session | null = null;

const opened = (): Session => {
  if (session === null) throw new Error('The first request to a member is "open".');
  return session;
};

const obey = async (request: Request): Promise<Answer | null> => {
  if (request.nowMs !== null) session?.clock?.set(new Date(request.nowMs));
  switch (request.kind) {
    case "open":
      session = await open(request, request.nowMs);
      return { kind: "ready" };
    case "consume":
      await consume(opened().rheo, opened().consumerId, request, reachFor(request.haltAt));
      return null; // answered on the way
    case "fetch":
      return await fetchLeases(opened(), request);
    case "ack":
      return await ack(opened().rheo, request.lease);
    default:
      return request satisfies never;
  }
};

const open = async ({ url, consumerId }: Extract<Command, { kind: "open" }>, nowMs: number | null): Promise<Session> => {
  const clock = nowMs === null ? null : new FrozenClock(new Date(nowMs));
  return { rheo: await Rheo.open(url, clock === null ? {} : { clock }), clock, consumerId };
};

const fetchLeases = async (
  { rheo, consumerId }: Session,
  { stream, group, limit }: Extract<Command, { kind: "fetch" }>,
): Promise<Answer> => ({
  kind: "leased",
  leases: await rheo.fetch(stream, group, { consumerId, limit }),
});

/** Reports the line that was asked for, and goes no further: what comes next is SIGKILL. */
const reachFor =
  (haltAt: KillPoint): Reach =>
  (point, lease) => {
    if (point !== haltAt) return Promise.resolve();
    answer({ kind: "reached", point, lease });
    return new Promise(() => {});
  };

const answer = (message: Answer): void => {
  if (process.connected) process.send?.(message);
};

process.on("message", (request: Request) => {
  obey(request).then(
    (given) => given !== null && answer(given),
    (error: unknown) => answer({ kind: "failed", message: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => process.exit()); // the parent is gone, however it went
process.on("SIGINT", () => {}); // Ctrl-C reaches the whole terminal group: the parent decides
