import { setTimeout as sleep } from "node:timers/promises";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { milliseconds, type Question } from "../question.ts";

/** Between two events, so that the group is idle when one comes. */
const PAUSE_MS = 10;

/** From the call of append to the start of the handler, in one process, with nothing else to do. */
export const latency: Question = {
  name: "latency",
  title: "append → handler when idle",
  ask: async (system, { pings }) => {
    const opened = await system.open();
    const { rheo } = opened;
    await rheo.createStream("bench");
    const taken: number[] = [];
    let arrived = (): void => undefined;
    const noted = handler((event) => {
      taken.push(performance.now() - (event.payload as { readonly at: number }).at); // as appended below
      arrived();
    });
    const consumer = defineConsumer({ stream: "bench", group: "ping", handler: noted, execution: "inline", createGroup: {} });
    const app = await supervise({ rheo, consumers: [consumer] });
    for (let ping = 0; ping < pings; ping++) {
      await sleep(PAUSE_MS);
      const arrival = new Promise<void>((resolve) => (arrived = resolve));
      await rheo.append("bench", { payload: { at: performance.now() } });
      await arrival;
    }
    await app.stop();
    await opened.close();
    const sorted = taken.sort((a, b) => a - b);
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
    return [
      milliseconds("append → handler idle, p50", system, at(0.5)),
      milliseconds("append → handler idle, p99", system, at(0.99)),
    ];
  },
};
