/** Kill before ack: each step with what to expect, and what must be so afterwards. */
import { type GroupInfo, type Lease, RheoError } from "@rheo/core";
import { GROUP, LEASE_MS, left, type Scene, STREAM, type TourStep } from "./step.ts";

const PART_MS = 20_000;

const publish: TourStep = {
  title: "Three orders are published",
  expect: "Lag counts every event that is not acked or dead, so it is 3. Nobody holds anything.",
  run: async (scene) => {
    const { rheo } = scene;
    await rheo.createStream(STREAM, { partitions: 1 });
    await rheo.createGroup(STREAM, GROUP, { leaseMs: LEASE_MS });
    scene.events = await rheo.appendMany(STREAM, [
      { payload: { order: 1 } },
      { payload: { order: 2 } },
      { payload: { order: 3 } },
    ]);
    const { lag, inflight } = await infoOf(scene);
    return {
      detail: `The log of partition 0 holds ${scene.events.map(placeOf).join(", ")}. Group “${GROUP}” begins at the earliest.`,
      checks: {
        "sequences count from 1": scene.events.map(({ sequence }) => sequence).join() === "1,2,3",
        "lag is 3": lag === 3,
        "nothing is in flight": inflight === 0,
      },
    };
  },
};

const claim: TourStep = {
  title: "A claims the first",
  expect: "A gets a lease of 30 s with a token. Claimed is not done: lag stays 3, and 1 is in flight.",
  run: async (scene) => {
    const [lease] = await fetch(scene, "A", 1);
    scene.lost = left(lease ?? null);
    const { lag, inflight } = await infoOf(scene);
    return {
      detail: `A holds ${words(scene.lost)}.`,
      checks: { "it is attempt 1": scene.lost.attempt === 1, "lag is still 3": lag === 3, "1 is in flight": inflight === 1 },
    };
  },
};

const die: TourStep = {
  title: "A dies before its ack",
  expect: "The store cannot know: it sees a lease that has time left. The frontier waits for A, and Rheo says so by name.",
  run: async (scene) => {
    const { lag, inflight } = await infoOf(scene);
    const holder = await holderOf(scene);
    return {
      detail: `Nothing of A runs any more. What holds the frontier: 0@${holder.sequence}, ${holder.state} by ${holder.consumerId}.`,
      checks: {
        "lag is still 3": lag === 3,
        "1 is still in flight": inflight === 1,
        "A is named as what holds the frontier": holder.consumerId === "A" && holder.sequence === 1,
      },
    };
  },
};

const neighbours: TourStep = {
  title: "B takes and acks the others",
  expect: "B gets 0@2 and 0@3, not A’s event. It acks both, but lag stays 3: there is a hole at 1, and lag does not look away.",
  run: async (scene) => {
    const leases = await fetch(scene, "B", 10);
    const results = await scene.rheo.settle(leases.map((lease) => ({ lease, outcome: { kind: "ack" } })));
    const { lag, inflight } = await infoOf(scene);
    return {
      detail: `B got ${leases.map(placeOf).join(" and ")}; its acks are ${results.map(({ status }) => status).join(" and ")}.`,
      checks: {
        "B was not given A’s event": leases.map(({ sequence }) => sequence).join() === "2,3",
        "both acks are accepted": results.every(({ status }) => status === "settled"),
        "lag is honest: still 3": lag === 3,
        "1 is in flight: A’s": inflight === 1,
      },
    };
  },
};

const wait: TourStep = {
  title: "20 seconds pass",
  expect: "A’s lease has 10 s left, so B, asking again, gets nothing. Two leases on one delivery never exist.",
  run: async (scene) => {
    scene.clock.advance(PART_MS);
    const leases = await fetch(scene, "B", 10);
    const { lag, inflight } = await infoOf(scene);
    return {
      detail: `B was given ${leases.length === 0 ? "nothing" : leases.map(placeOf).join()}.`,
      checks: { "B gets nothing": leases.length === 0, "lag is still 3": lag === 3, "1 is in flight": inflight === 1 },
    };
  },
};

const expire: TourStep = {
  title: "The lease runs out",
  expect:
    "In flight goes back to zero by the store’s clock alone; nobody had to notice A’s death. Lag stays 3: expired is not settled.",
  run: async (scene) => {
    scene.clock.advance(LEASE_MS - PART_MS);
    const { lag, inflight } = await infoOf(scene);
    const holder = await holderOf(scene);
    return {
      detail: `What holds the frontier: 0@${holder.sequence}, whose lease ${holder.expired ? "has run out" : "has time left"}.`,
      checks: { "nothing is in flight": inflight === 0, "lag is still 3": lag === 3, "the lease has run out": holder.expired },
    };
  },
};

const takeOver: TourStep = {
  title: "B gets the same event",
  expect: "The same id, as attempt 2, under a greater token.",
  run: async (scene) => {
    const lost = left(scene.lost);
    const [lease, ...more] = await fetch(scene, "B", 10);
    const again = left(lease ?? null);
    scene.again = again;
    const { lag, inflight } = await infoOf(scene);
    return {
      detail: `B holds ${words(again)}; A’s token was ${lost.token}.`,
      checks: {
        "it is the same event, and no other": again.event.id === lost.event.id && more.length === 0,
        "it is attempt 2": again.attempt === 2,
        "its token is greater": again.token > lost.token,
        "lag is still 3": lag === 3,
        "1 is in flight: B’s": inflight === 1,
      },
    };
  },
};

const lateAck: TourStep = {
  title: "A’s ack arrives late",
  expect: "It was on its way when A died, or A was only frozen. Its token is stale: refused, and nothing changes.",
  run: async (scene) => {
    const why = await refusal(scene, left(scene.lost));
    const { lag, inflight } = await infoOf(scene);
    return {
      detail: why === null ? "It was accepted." : `Refused: stale_lease (${why}).`,
      checks: {
        "it is refused as stale_lease": why !== null,
        "lag is still 3": lag === 3,
        "B’s lease is untouched": inflight === 1,
      },
    };
  },
};

const ack: TourStep = {
  title: "B acks",
  expect: "Accepted. The hole is closed, so the frontier moves over what is settled above it, and lag goes from 3 to 0 at once.",
  run: async (scene) => {
    const why = await refusal(scene, left(scene.again));
    const { lag, inflight } = await infoOf(scene);
    return {
      detail: why === null ? "B’s ack is accepted." : `Refused: stale_lease (${why}).`,
      checks: { "it is accepted": why === null, "lag is 0": lag === 0, "nothing is in flight": inflight === 0 },
    };
  },
};

const after: TourStep = {
  title: "Nothing comes again",
  expect: "A tries once more and is refused again; whoever asks gets nothing; nothing is dead. A’s death cost one redelivery.",
  run: async (scene) => {
    const why = await refusal(scene, left(scene.lost));
    const leases = await fetch(scene, "C", 10);
    const { lag, inflight, retrying, deadLetters } = await infoOf(scene);
    return {
      detail: `A is ${why === null ? "accepted" : `refused: stale_lease (${why})`}. C was given ${leases.length} events. ${deadLetters} dead letters.`,
      checks: {
        "A is refused again": why !== null,
        "nothing comes again": leases.length === 0,
        "lag is 0": lag === 0,
        "nothing is in flight, retrying or dead": inflight + retrying + deadLetters === 0,
      },
    };
  },
};

const fetch = ({ rheo }: Scene, consumerId: string, limit: number): Promise<readonly Lease[]> =>
  rheo.fetch(STREAM, GROUP, { consumerId, limit });

const infoOf = ({ rheo }: Scene): Promise<GroupInfo> => rheo.groupInfo(STREAM, GROUP);

const holderOf = async ({ rheo }: Scene) => {
  const [holder] = await rheo.explainLag(STREAM, GROUP);
  return left(holder ?? null);
};

/** Why an ack is refused; null when it is accepted. */
const refusal = async ({ rheo }: Scene, lease: Lease): Promise<string | null> => {
  try {
    await rheo.ack(lease);
    return null;
  } catch (error) {
    if (!RheoError.is(error, "stale_lease")) throw error;
    return error.details.why ?? "unknown";
  }
};

const placeOf = ({ partition, sequence }: { readonly partition: number; readonly sequence: number }): string =>
  `${partition}@${sequence}`;

const words = (lease: Lease): string => `${placeOf(lease)}: attempt ${lease.attempt}, token ${lease.token}`;

export const STEPS: readonly TourStep[] = [publish, claim, die, neighbours, wait, expire, takeOver, lateAck, ack, after];
