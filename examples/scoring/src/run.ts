import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { Rheo } from "@rheo/core";
import { supervise } from "@rheo/runtime";
import Database from "libsql";
import { drawImage, type EncodedImage, encode } from "./image.ts";
import { rank } from "./ranking.ts";
import { images, scores } from "./streams.ts";

/** What became of one run. */
export interface Run {
  readonly threads: number;
  readonly imagesPerSecond: number;
  /** How late the main thread's timers were, in ms: half of them at most this much, 99 in 100, the worst. */
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Share of the time in which the main thread was busy. */
  readonly mainBusy: number;
  readonly ranked: number;
  readonly sharp: number;
  readonly deadLetters: readonly { readonly id: string; readonly attempts: number; readonly reason: string }[];
}

const SIDE = 128;

/** Scores so many images with so many threads, in a store of its own. @param poison - among them one whose codec kills its thread */
export const run = async (threads: number, count: number, poison: boolean): Promise<Run> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-scoring-"));
  try {
    return await runIn(folder, threads, count, poison);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
};

const runIn = async (folder: string, threads: number, count: number, poison: boolean): Promise<Run> => {
  const url = `sqlite:${join(folder, "events.db")}`;
  process.env.SCORING_STORE = url; // threads get a copy of the environment
  await using rheo = await Rheo.open(url);
  await rheo.ensureStream(images);
  await rheo.ensureStream(scores);
  await rheo.ensureGroup(images, "scoring", { maxAttempts: 3, retry: { minMs: 10, maxMs: 100 } });
  await rheo.appendMany(images, [...drawn(count), ...(poison ? [POISON] : [])]);

  const database = new Database(join(folder, "ranking.db"));
  await using ranking = rank(rheo, database);
  const handler = new URL("./score.handler.ts", import.meta.url);
  await using app = await supervise({
    rheo,
    threads,
    consumers: [{ stream: images, group: "scoring", handler, concurrency: threads }],
  });

  const delay = monitorEventLoopDelay({ resolution: 10 });
  const before = performance.eventLoopUtilization();
  const startMs = performance.now();
  delay.enable();
  await rheo.whenCaughtUp(images, "scoring");
  delay.disable();
  const seconds = (performance.now() - startMs) / 1_000;
  const { utilization } = performance.eventLoopUtilization(before);
  await rheo.whenCaughtUp(scores, "ranking");

  const dead = await rheo.deadLetters(images, "scoring");
  const shelves = database.prepare("SELECT shelf FROM ranking").all() as { shelf: string }[]; // the table of ranking.ts
  await app.stop();
  await ranking.stop();
  database.close();
  return {
    threads,
    imagesPerSecond: Math.round(count / seconds),
    loopDelayMs: { p50: late(delay.percentile(50)), p99: late(delay.percentile(99)), max: late(delay.max) },
    mainBusy: Number(utilization.toFixed(2)),
    ranked: shelves.length,
    sharp: shelves.filter(({ shelf }) => shelf === "sharp").length,
    deadLetters: dead.map(({ eventId, attempts, reason }) => ({ id: eventId, attempts, reason })),
  };
};

const drawn = (count: number): { id: string; key: string; payload: EncodedImage }[] =>
  Array.from({ length: count }, (_, n) => ({ id: `image-${n}`, key: `camera-${n % 16}`, payload: encode(drawImage(n, SIDE)) }));

const POISON = { id: "poison", key: "camera-0", payload: { codec: "broken" as const, width: 1, height: 1, data: "AA==" } };

/** The histogram holds nanoseconds between ticks, and ticks are 10 ms apart by themselves. */
const late = (nanoseconds: number): number => Number(Math.max(0, nanoseconds / 1e6 - 10).toFixed(1));
