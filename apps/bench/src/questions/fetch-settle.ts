import { ack, type Settlement } from "@rheo/core";
import { internalsOf } from "@rheo/core/internal";
import { backlog, GROUP, STREAM } from "../backlog.ts";
import { type Question, rate, type Sample, secondsOf } from "../question.ts";
import type { Opened } from "../systems.ts";

/** The public calls: leases as objects, a settle per fetch. */
const byCalls = async ({ rheo }: Opened, limit: number): Promise<void> => {
  for (;;) {
    const leases = await rheo.fetch(STREAM, GROUP, { limit });
    if (leases.length === 0) return;
    await rheo.settle(leases.map((lease) => ({ lease, outcome: ack() })));
  }
};

/** What the runtime does: a settle and the next fetch in one exchange, no objects per event. */
const byExchange = async ({ rheo }: Opened, limit: number): Promise<void> => {
  const internals = internalsOf(rheo);
  const fetch = { limit, maxBytes: 8_388_608, consumerId: "bench", leaseMs: null, partitions: null, runLimit: 1 };
  for (let settlements: readonly Settlement[] = []; ; ) {
    const { grants } = await internals.exchange({ stream: STREAM, group: GROUP, settlements, fetch });
    if (grants.length === 0) return;
    settlements = grants.map(({ partition, token, events }) => ({
      partition,
      token,
      sequences: events.map((event) => event.sequence),
      outcome: { kind: "ack" as const },
    }));
  }
};

export const fetchSettle: Question = {
  name: "fetch-settle",
  title: "fetch and settle alone, no handler",
  ask: async (system, { events }) => {
    const samples: Sample[] = [];
    for (const [name, run] of [
      ["public calls", byCalls],
      ["fused exchange, unparsed", byExchange],
    ] as const) {
      for (const limit of [100, 1_000]) {
        const opened = await system.open();
        await backlog(opened, { events });
        const seconds = await secondsOf(() => run(opened, limit));
        samples.push(rate(`fetch+settle, ${name}`, system, events, seconds, { "per call": limit }));
        await opened.close();
      }
    }
    return samples;
  },
};
