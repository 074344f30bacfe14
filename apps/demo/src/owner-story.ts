/**
 * The story of a process that owns its store, and is killed while it holds a lease: nobody else could look on, so what became of it is seen
 * by the next owner. How it ends depends on whether the ack was in the store by then.
 */
import { RheoError } from "@rheo/core";
import { ack, isStale, words } from "./late-ack.ts";
import { place } from "./messages.ts";
import type { OwnerScene } from "./owner-scene.ts";
import { KILLS } from "./points.ts";
import type { Step } from "./step.ts";
import { PRICES } from "./story.ts";

type OwnerStep = Step<OwnerScene>;

const OWNER = "owner-1";
const HEIR = "owner-2";

const append: OwnerStep = {
  name: "append",
  doing: "appending events",
  run: async ({ open, names: { stream, group }, time, found }) => {
    await using rheo = await open();
    await rheo.createStream(stream, { partitions: 1 });
    await rheo.createGroup(stream, group, { leaseMs: time.leaseMs });
    const drafts = PRICES.map((price) => ({ type: "curve_update", key: "EUR-6M", payload: { currency: "EUR", price } }));
    const events = found.events.set(await rheo.appendMany(stream, drafts));
    return {
      detail: `${events.length} events, ${events.map(place).join(" ")}; and the store is closed`,
      expected: { "sequences count from 1": events.every(({ sequence }, index) => sequence === index + 1) },
    };
  },
};

const start: OwnerStep = {
  name: "start",
  doing: "starting a process that owns the store",
  run: async ({ members, open, found }) => {
    const victim = found.victim.set(await members.start(OWNER));
    const refusal = await open().then(
      (rheo) => rheo.close().then(() => null),
      (error: unknown) => error,
    );
    const said = RheoError.is(refusal, "unavailable") ? refusal.message : "";
    return {
      detail: `${victim.label} has it; this process is told: ${said.slice(0, 100)}…`,
      expected: { "nobody else may open it": said !== "", "the owner is named": said.includes(String(victim.pid)) },
    };
  },
};

const fetch: OwnerStep = {
  name: "fetch",
  doing: "the owner fetches",
  run: async ({ point, names, found }) => {
    const lease = found.lost.set(await found.victim.get().consumeUntil(point, names));
    return {
      detail: `${OWNER} leases ${place(lease)}: attempt ${lease.attempt}, token ${lease.token}`,
      expected: { "it is the first event": lease.event.id === found.events.get()[0]?.id, "it is attempt 1": lease.attempt === 1 },
    };
  },
};

const kill: OwnerStep = {
  name: "kill",
  doing: "killing it, and opening the store in its place",
  run: async ({ point, names: { stream, group }, open, found }) => {
    const signal = await found.victim.get().kill();
    const rheo = found.heir.set(await open());
    const history = await rheo.eventHistory(stream, found.lost.get().event.id);
    const delivery = history?.groups.find((known) => known.group === group);
    const settled = found.settled.set(delivery?.state === "acked");
    const { when, leaves } = KILLS[point];
    return {
      detail: `${signal} ${when}; ${HEIR} has the store, which says: ${settled ? "acked" : `${delivery?.state} by ${delivery?.consumerId}`}`,
      expected: {
        "SIGKILL ended it": signal === "SIGKILL",
        "the ack landed if and only if it was sent": leaves === "either" || settled === (leaves === "settled"),
      },
    };
  },
};

const expire: OwnerStep = {
  name: "expire",
  doing: "letting the lease end",
  run: async ({ time, signal, names: { stream, group }, found }, tell) => {
    const how = await time.passLease((leftMs) => tell(`${(leftMs / 1_000).toFixed(1)} s left`), signal);
    const { inflight } = await found.heir.get().groupInfo(stream, group);
    return { detail: how, expected: { "no live lease is left": inflight === 0 } };
  },
};

const redeliver: OwnerStep = {
  name: "redeliver",
  doing: "the new owner fetches",
  run: async ({ names: { stream, group }, found }) => {
    const rheo = found.heir.get();
    const lost = found.lost.get();
    const leases = await rheo.fetch(stream, group, { consumerId: HEIR, limit: 10 });
    const again = leases.find(({ event }) => event.id === lost.event.id);
    for (const lease of leases) if (lease !== again) await rheo.ack(lease);
    if (found.settled.get())
      return {
        detail: `${HEIR} was given ${leases.map(place).join(" ")}, and acks: what was acked does not come again`,
        expected: { "the acked event does not come again": again === undefined },
      };
    if (again === undefined) return { detail: `${HEIR} was not given it`, expected: { "the event comes again": false } };
    found.again.set(again);
    return {
      detail: `${HEIR} leases ${leases.map(place).join(" ")}: the same event, attempt ${again.attempt}, token ${again.token}`,
      expected: { "it is attempt 2": again.attempt === 2, "its token is higher": again.token > lost.token },
    };
  },
};

const fence: OwnerStep = {
  name: "fence",
  doing: "acking with the dead owner's lease",
  run: async ({ names: { stream, group }, found }) => {
    const rheo = found.heir.get();
    const late = found.lateAck.set(await ack(rheo, found.lost.get()));
    const again = found.again.getOrNull();
    const answer = again === null ? null : await ack(rheo, again);
    const { lag } = await rheo.lag(stream, group);
    found.lag.set(lag);
    return {
      detail: `token ${found.lost.get().token}: ${words(late)}; ${again === null ? "" : `token ${again.token}: ${answer?.kind}; `}lag ${lag}`,
      expected: {
        "it is refused as stale_lease": isStale(late),
        "the new lease is accepted": answer === null || answer.kind === "acked",
        "lag is 0": lag === 0,
      },
    };
  },
};

export const OWNER_STORY: readonly OwnerStep[] = [append, start, fetch, kill, expire, redeliver, fence];
