import { counting } from "./counting.ts";
import { latencies } from "./deliveries/latencies.ts";
import { Gauges } from "./gauges/gauges.ts";
import { LabelSets } from "./labels.ts";
import { listen } from "./listening.ts";
import type { WatchSettings } from "./options.ts";
import type { Recorder } from "./recorder.ts";

/** An instance being watched. */
export interface Watching {
  readonly sets: LabelSets;
  readonly gauges: Gauges;
  /** Hears nothing more. */
  readonly end: () => void;
}

/** Counts and times what an instance tells from now on. */
export const watchInstance = (settings: WatchSettings, recorder: Recorder): Watching => {
  const { rheo, maxGroups, times } = settings;
  let isTold = false;
  const sets = new LabelSets(maxGroups, () => {
    if (isTold) return;
    isTold = true;
    process.emitWarning(
      `Telemetry of "${rheo.name}" tells ${maxGroups} streams and groups apart; all others share the name "_other". Raise maxGroups, or name those to watch.`,
      "RheoWarning",
    );
  });
  const ends = [listen(rheo.events, counting(sets, recorder)), ...(times ? [latencies(rheo, sets, recorder)] : [])];
  return {
    sets,
    gauges: new Gauges(settings, sets, recorder),
    end: () => {
      for (const end of ends) end();
    },
  };
};
