/** The whole demo: one story after another, each on a stream of its own in one store. */
import { randomUUID } from "node:crypto";
import { killOwner, killProcess } from "./kill-process.ts";
import { openPlace } from "./place.ts";
import type { KillPoint } from "./points.ts";
import type { DemoReport, StoryReport } from "./report.ts";
import type { Stage } from "./stage.ts";
import { type Audience, allOk } from "./step.ts";
import type { ClockKind } from "./story-time.ts";
import { killThread } from "./thread-kill.ts";

export interface DemoOptions {
  readonly points: readonly KillPoint[];
  readonly clock: ClockKind;
  /** Null: a temporary SQLite file. */
  readonly store: string | null;
  /** Leave what the demo made in the store. */
  readonly keep: boolean;
  readonly signal: AbortSignal;
}

/** Who is told how the demo goes. */
export interface DemoAudience extends Audience {
  readonly demoStarted: (demo: Pick<DemoReport, "store" | "clock">) => void;
  readonly storyStarted: (story: Pick<StoryReport, "killed" | "killAt">) => void;
  readonly storyEnded: (report: StoryReport) => void;
}

/**
 * Kills a process at each of the points, then a worker thread.
 * @throws UsageError - the store does not outlive its process
 * @throws RheoError - it cannot be opened
 */
export const runDemo = async (options: DemoOptions, audience: DemoAudience): Promise<DemoReport> => {
  const startedMs = performance.now();
  const { points, clock, keep, signal } = options;
  await using place = await openPlace(options.store, keep);
  const store = place.shownUrl;
  audience.demoStarted({ store, clock });
  const run = randomUUID().slice(0, 8); // so that runs on one store do not meet
  const stageOf = (story: string): Stage => ({ url: place.url, stream: `demo-${run}-${story}`, keep, signal });
  const stories: StoryReport[] = [];
  const tell = async (story: Pick<StoryReport, "killed" | "killAt">, play: () => Promise<StoryReport>): Promise<void> => {
    signal.throwIfAborted();
    audience.storyStarted(story);
    const report = await play();
    audience.storyEnded(report);
    stories.push(report);
  };
  const killOne = place.hasOneOwner ? killOwner : killProcess;
  for (const killAt of points) await tell({ killed: "process", killAt }, () => killOne(stageOf(killAt), killAt, clock, audience));
  await tell({ killed: "thread", killAt: null }, () => killThread(stageOf("thread"), audience));
  return { ok: allOk(stories), store, clock, node: process.version, ms: Math.round(performance.now() - startedMs), stories };
};
