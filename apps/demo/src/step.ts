/** A story is a list of steps. Each does something real, says what it saw, and names what had to be so. */
import type { StepReport } from "./report.ts";

export interface Step<Scene> {
  readonly name: string;
  /** What it does, for those who watch it. */
  readonly doing: string;
  readonly run: (scene: Scene, tell: (progress: string) => void) => Promise<Seen>;
}

interface Seen {
  readonly detail: string;
  /** What must be so, in words, and whether it is. */
  readonly expected: Readonly<Record<string, boolean>>;
}

/** Who is told while a story runs. */
export interface Audience {
  readonly stepStarted: (step: { readonly name: string; readonly doing: string }) => void;
  readonly stepProgress: (progress: string) => void;
  readonly stepEnded: (report: StepReport) => void;
}

/**
 * Runs steps in order, up to the first that is not as expected: those after it build on it.
 * @throws the reason of the scene's signal: a step that was broken off proves nothing
 */
export const play = async <Scene extends { readonly signal: AbortSignal }>(
  steps: readonly Step<Scene>[],
  scene: Scene,
  audience: Audience,
): Promise<StepReport[]> => {
  const reports: StepReport[] = [];
  for (const step of steps) {
    audience.stepStarted(step);
    const report = await playStep(step, scene, audience);
    scene.signal.throwIfAborted();
    audience.stepEnded(report);
    reports.push(report);
    if (!report.ok) break;
  }
  return reports;
};

export const allOk = (reports: readonly { readonly ok: boolean }[]): boolean => reports.every(({ ok }) => ok);

const playStep = async <Scene>({ name, run }: Step<Scene>, scene: Scene, audience: Audience): Promise<StepReport> => {
  const startedMs = performance.now();
  const { detail, expected } = await run(scene, audience.stepProgress).catch(failure);
  const checks = Object.entries(expected).map(([what, ok]) => ({ what, ok }));
  return { name, ok: allOk(checks), detail, ms: Math.round(performance.now() - startedMs), expected: checks };
};

/** A step that throws has failed: with what it threw in place of what it saw. */
const failure = (error: unknown): Seen => ({
  detail: error instanceof Error ? error.message : String(error),
  expected: { "the step can be carried out": false },
});

/** Something that one step finds out and later ones use. */
export class Found<Value> {
  #value: Value | null = null;

  /** Returns it, for use on the spot. */
  set(value: Value): Value {
    this.#value = value;
    return value;
  }

  /** @throws when no step has set it: the steps are in a wrong order */
  get(): Value {
    if (this.#value === null) throw new Error("This step needs what an earlier one finds out.");
    return this.#value;
  }

  getOrNull(): Value | null {
    return this.#value;
  }
}
