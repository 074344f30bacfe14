/** Lag under a load that comes in bursts: how high it gets, and how soon it is 0 again. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineConsumer, supervise } from "@rheo/runtime";
import { callsOf, GROUP, STREAM } from "../backlog.ts";
import { milliseconds, type Question, type Sample, sampleOf } from "../question.ts";
import { median } from "../results/statistics.ts";
import { SMALL_BYTES } from "../sample.ts";
import type { System } from "../systems.ts";

const BURSTS = 5;
/** Part of the backlog in each burst. */
const SHARE = 0.1;
const PAUSE_MS = 200;
const LOOK_MS = 1;
const HANDLER = new URL("../handlers/add.js", import.meta.url);

const ask = async (system: System, scale: { readonly events: number }): Promise<readonly Sample[]> => {
  const opened = await system.open();
  const { rheo } = opened;
  await rheo.createStream(STREAM, { partitions: 4 });
  let settled = 0;
  rheo.events.on("lease.settled", ({ acked }) => (settled += acked));
  const options = { stream: STREAM, group: GROUP, handler: HANDLER, createGroup: {} } as const;
  const app = await supervise({ rheo, consumers: [defineConsumer({ ...options, execution: "inline", concurrency: 64 })] });
  const calls = callsOf(Math.max(1, Math.round(scale.events * SHARE)), SMALL_BYTES);
  const size = calls.reduce((sum, { length }) => sum + length, 0);
  const peaks: number[] = [];
  const taken: number[] = [];
  for (let burst = 0; burst < BURSTS; burst++) {
    await sleep(PAUSE_MS);
    const startMs = performance.now();
    const goal = settled + size;
    let appended = settled;
    let peak = 0;
    const looking = setInterval(() => (peak = Math.max(peak, appended - settled)), LOOK_MS);
    const sending = calls.map(async (call) => {
      await rheo.appendMany(STREAM, call);
      appended += call.length;
      peak = Math.max(peak, appended - settled);
    });
    await Promise.all(sending);
    while (settled < goal) await sleep(LOOK_MS);
    taken.push(performance.now() - startMs);
    clearInterval(looking);
    peaks.push(peak);
  }
  await app.stop();
  await opened.close();
  const parameters = { burst: size };
  return [
    milliseconds("burst → all of it acked", system, median(taken), parameters),
    sampleOf("highest lag in a burst", system, "events", Math.max(...peaks), parameters),
  ];
};

export const bursts: Question = { name: "bursts", title: "lag under a load that comes in bursts", ask };
