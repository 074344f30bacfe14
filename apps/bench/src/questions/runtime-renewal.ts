import { defineConsumer, supervise } from "@rheo/runtime";
import { milliseconds, type Question, sampleOf } from "../question.ts";

const HANDLER = new URL("../handlers/spin.js", import.meta.url);
const LEASE_MS = 300;
const SPIN_MS = 10 * LEASE_MS;
const THREADS = 2;
const EVENTS = 2 * THREADS;

/** Whether leases are kept, and how far apart their renewals are, while every thread spins for ten lease lengths. */
export const runtimeRenewal: Question = {
  name: "runtime-renewal",
  title: "renewal under CPU-bound handlers",
  ask: async (system) => {
    const opened = await system.open();
    const { rheo } = opened;
    await rheo.createStream("bench");
    await rheo.createGroup("bench", "spin", { leaseMs: LEASE_MS });
    await rheo.appendMany(
      "bench",
      Array.from({ length: EVENTS }, () => ({ payload: SPIN_MS })),
    );
    const renewed: number[] = [];
    let lost = 0;
    let redelivered = 0;
    rheo.events.on("lease.renewed", () => renewed.push(performance.now()));
    rheo.events.on("lease.lost", () => (lost += 1));
    rheo.events.on("lease.granted", (event) => (redelivered += event.redelivered));
    const consumer = defineConsumer({ stream: "bench", group: "spin", handler: HANDLER, concurrency: THREADS });
    const app = await supervise({ rheo, consumers: [consumer], threads: THREADS });
    await rheo.whenCaughtUp("bench", "spin");
    await app.stop();
    await opened.close();
    const gaps = renewed.slice(1).map((atMs, index) => atMs - (renewed[index] ?? atMs));
    const answerer = { name: system.name, settings: `leaseMs ${LEASE_MS}, ${THREADS} threads that spin ${SPIN_MS} ms` };
    return [
      sampleOf("leases lost while threads spin", answerer, "leases", lost + redelivered),
      milliseconds("longest time between two renewals", answerer, Math.max(...gaps)),
    ];
  },
};
