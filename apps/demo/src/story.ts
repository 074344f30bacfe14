/**
 * The story of a process that is killed while it holds a lease, as steps with what each must find. How it ends depends on
 * whether the ack was in the store by then; for the point "in-ack" only the store can tell.
 */
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { DeliveryInfo, Event } from "@rheo/core";
import type { KillScene } from "./kill-scene.ts";
import { isStale, words } from "./late-ack.ts";
import { type AckAnswer, place } from "./messages.ts";
import { KILLS, LANDING_MS, RACE_MS } from "./points.ts";
import type { Step } from "./step.ts";

type KillStep = Step<KillScene>;

const VICTIM = "worker-1";
const SURVIVOR = "worker-2";
export const PRICES = [2.913, 2.921, 2.908];

const append: KillStep = {
  name: "append",
  doing: "appending events",
  run: async ({ rheo, names: { stream, group }, time, found }) => {
    await rheo.createStream(stream, { partitions: 1 });
    await rheo.createGroup(stream, group, { leaseMs: time.leaseMs });
    const drafts = PRICES.map((price) => ({ type: "curve_update", key: "EUR-6M", payload: { currency: "EUR", price } }));
    const events = found.events.set(await rheo.appendMany(stream, drafts));
    const { lag } = await rheo.lag(stream, group);
    return {
      detail: `${events.length} events, ${events.map(place).join(" ")}; lag of group "${group}" is ${lag}`,
      expected: {
        "sequences count from 1": events.every(({ sequence }, index) => sequence === index + 1),
        "lag counts every event": lag === 3,
      },
    };
  },
};

const start: KillStep = {
  name: "start",
  doing: "starting two member processes",
  run: async ({ members, found }) => {
    const [victim, survivor] = await Promise.all([members.start(VICTIM), members.start(SURVIVOR)]);
    found.victim.set(victim);
    found.survivor.set(survivor);
    return {
      detail: `${victim.label} and ${survivor.label}, siblings in one group`,
      expected: { "they are processes of their own": new Set([victim.pid, survivor.pid, process.pid]).size === 3 },
    };
  },
};

const fetch: KillStep = {
  name: "fetch",
  doing: "the first member fetches",
  run: async ({ point, names, found }) => {
    const lease = found.lost.set(await found.victim.get().consumeUntil(point, names));
    const [first] = found.events.get();
    return {
      detail: `${VICTIM} leases ${place(lease)}: attempt ${lease.attempt}, token ${lease.token}, event ${shortId(lease.event)}`,
      expected: { "it is the first event": lease.event.id === first?.id, "it is attempt 1": lease.attempt === 1 },
    };
  },
};

const kill: KillStep = {
  name: "kill",
  doing: "killing it",
  run: async ({ rheo, point, names: { stream, group }, found }) => {
    if (point === "in-ack") await race();
    const signal = await found.victim.get().kill();
    const look = async (): Promise<DeliveryInfo | undefined> => {
      const history = await rheo.eventHistory(stream, found.lost.get().event.id);
      return history?.groups.find((known) => known.group === group);
    };
    const delivery = point === "in-ack" ? await afterLanding(look) : await look();
    const settled = found.settled.set(delivery?.state === "acked");
    const { when, leaves } = KILLS[point];
    return {
      detail: `${signal} ${when}; the store says: ${settled ? "acked" : `${delivery?.state} by ${delivery?.consumerId}, not acked`}`,
      expected: {
        "SIGKILL ended it": signal === "SIGKILL",
        "the event is acked, or still leased to the dead member":
          settled || (delivery?.state === "leased" && delivery.consumerId === VICTIM),
        "the ack landed if and only if it was sent": leaves === "either" || settled === (leaves === "settled"),
      },
    };
  },
};

/** Turns of the event loop, as timers are too coarse for this. */
const race = async (): Promise<void> => {
  const endMs = performance.now() + Math.random() * RACE_MS;
  while (performance.now() < endMs) await turn();
};

/** A server may still be at work on what the dead one has sent. What has not landed by then was not received. */
const afterLanding = async (look: () => Promise<DeliveryInfo | undefined>): Promise<DeliveryInfo | undefined> => {
  const endMs = performance.now() + LANDING_MS;
  for (;;) {
    const delivery = await look();
    if (delivery?.state === "acked" || performance.now() > endMs) return delivery;
    await sleep(10);
  }
};

const neighbours: KillStep = {
  name: "neighbours",
  doing: "the sibling works on what else there is",
  run: async ({ rheo, names, found }) => {
    const survivor = found.survivor.get();
    const leases = await survivor.fetch(10, names);
    const answers: AckAnswer[] = [];
    for (const lease of leases) answers.push(await survivor.ack(lease));
    const { lag } = await rheo.lag(names.stream, names.group);
    const settled = found.settled.get();
    return {
      detail: `${SURVIVOR} acked ${leases.map(place).join(" ")}; lag is ${lag}${settled ? "" : `, as ${place(found.lost.get())} is a hole in front of them`}`,
      expected: {
        "the lease kept the victim's event from the sibling": leases.map(({ sequence }) => sequence).join() === "2,3",
        "its acks are accepted": answers.every(({ kind }) => kind === "acked"),
        "lag shows the hole until it is settled": lag === (settled ? 0 : 3),
      },
    };
  },
};

const expire: KillStep = {
  name: "expire",
  doing: "letting the lease end",
  run: async ({ rheo, names: { stream, group }, time, signal, found }, tell) => {
    const how = await time.passLease((leftMs) => tell(`${(leftMs / 1_000).toFixed(1)} s left`), signal);
    const [holder] = await rheo.explainLag(stream, group);
    const { inflight, members } = await rheo.groupInfo(stream, group);
    const held = members.find(({ consumerId }) => consumerId === VICTIM)?.leases ?? 0;
    return {
      detail: `${how}; ${holder === undefined ? "nothing is held" : `${place(holder)} is ${holder.expired ? "expired" : holder.state}, ${VICTIM} holds ${held} leases`}`,
      expected: {
        "no live lease is left": inflight === 0 && held === 0,
        "an unsettled event has an expired lease": found.settled.get() ? holder === undefined : holder?.expired === true,
      },
    };
  },
};

const redeliver: KillStep = {
  name: "redeliver",
  doing: "the sibling fetches again",
  run: async ({ names, found }) => {
    const leases = await found.survivor.get().fetch(10, names);
    const [lost, again] = [found.lost.get(), leases[0]];
    if (again === undefined) return { detail: `${SURVIVOR} was given nothing`, expected: { "the event comes again": false } };
    found.again.set(again);
    return {
      detail: `${SURVIVOR} leases ${place(again)}, the same event ${shortId(again.event)}: attempt ${again.attempt}, token ${again.token}`,
      expected: {
        "it is the same event, and no other": again.event.id === lost.event.id && leases.length === 1,
        "it is attempt 2": again.attempt === 2,
        "its token is higher": again.token > lost.token,
      },
    };
  },
};

const fence: KillStep = {
  name: "fence",
  doing: "a ghost of the dead member acks",
  run: async ({ rheo, members, names: { stream, group }, found }) => {
    const ghost = found.ghost.set(await members.start("ghost"));
    const answer = await ghost.ack(found.lost.get());
    const { lag } = await rheo.lag(stream, group);
    return {
      detail: `${ghost.label} acks with the dead one's token ${found.lost.get().token}: ${words(found.lateAck.set(answer))}; lag still ${lag}`,
      expected: { "it is refused as stale_lease": isStale(answer), "nothing was changed by it": lag === 3 },
    };
  },
};

const ack: KillStep = {
  name: "ack",
  doing: "the sibling acks",
  run: async ({ rheo, names: { stream, group }, found }) => {
    const again = found.again.get();
    const answer = await found.survivor.get().ack(again);
    const { lag, partitions } = await rheo.lag(stream, group);
    return {
      detail: `${SURVIVOR} acks ${place(again)} with token ${again.token}: ${words(answer)}; frontier ${partitions[0]?.frontier}, lag ${lag}`,
      expected: { "it is accepted": answer.kind === "acked", "the hole is closed, and lag is 0": lag === 0 },
    };
  },
};

const nothingAgain: KillStep = {
  name: "no redelivery",
  doing: "the sibling fetches again",
  run: async ({ names, found }) => {
    const leases = await found.survivor.get().fetch(10, names);
    return {
      detail: `${SURVIVOR} was given ${leases.length === 0 ? "nothing: an acked event does not come again" : leases.map(place).join(" ")}`,
      expected: { "nothing comes again": leases.length === 0 },
    };
  },
};

const lateAck: KillStep = {
  name: "late ack",
  doing: "the ghost acks once more",
  run: async ({ members, found }) => {
    const ghost = found.ghost.getOrNull() ?? found.ghost.set(await members.start("ghost"));
    const answer = await ghost.ack(found.lost.get());
    return {
      detail: `${ghost.label} acks with the dead one's token ${found.lost.get().token}: ${words(found.lateAck.set(answer))}`,
      expected: { "it is refused as stale_lease": isStale(answer) },
    };
  },
};

const aftermath: KillStep = {
  name: "aftermath",
  doing: "looking around",
  run: async ({ rheo, names: { stream, group }, found }) => {
    const { lag, inflight, retrying, deadLetters, members } = await rheo.groupInfo(stream, group);
    const logged = await rheo.query(stream, {});
    const holding = members.filter(({ leases }) => leases > 0).map(({ consumerId }) => consumerId);
    found.lag.set(lag);
    return {
      detail: `lag ${lag}; ${inflight} leased, ${retrying} retrying, ${deadLetters} dead; leases held by ${holding.join(" ") || "nobody"}; ${logged.length} events in the log`,
      expected: {
        "lag is 0": lag === 0,
        "no delivery is stuck": inflight + retrying + deadLetters === 0 && (await rheo.leases(stream, group)).length === 0,
        "no member holds a lease": holding.length === 0,
        "the log is as it was":
          logged.map(({ id }) => id).join() ===
          found.events
            .get()
            .map(({ id }) => id)
            .join(),
      },
    };
  },
};

/** The part of an id that tells events of one batch apart. */
const shortId = ({ id }: Event): string => `…${id.slice(-12)}`;

/** Up to the death, and what it does to others. */
export const UNTIL_DEATH: readonly KillStep[] = [append, start, fetch, kill, neighbours, expire];

/** The ack was not in the store: the event comes again, and the dead member's token is worth nothing. */
export const IF_UNSETTLED: readonly KillStep[] = [redeliver, fence, ack, lateAck, aftermath];

/** The ack was in the store: nothing comes again. */
export const IF_SETTLED: readonly KillStep[] = [nothingAgain, lateAck, aftermath];
