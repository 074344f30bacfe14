/** What a process of groups costs that have nothing to do: the processor's time there, and calls at the store. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Meter } from "../meter.ts";
import { type Question, type Sample, sampleOf } from "../question.ts";
import { type System, urlOf } from "../systems.ts";
import { endChild, told } from "../told.ts";

const MODULE = fileURLToPath(new URL("../processes/idle.js", import.meta.url));

interface Manner {
  readonly groups: number;
  readonly partitions: number;
}

/** The process is one of its own: this one has the heap of all that was measured before. */
const ask = async (system: System, { groups, partitions }: Manner): Promise<readonly Sample[]> => {
  const { rheo, place, close } = await system.open();
  await rheo.close();
  const child = fork(MODULE, [urlOf(place), `${groups}`, `${partitions}`]);
  await told(child);
  // a file says nothing of calls, and reading what it holds would wake those who watch it
  const meter = place.kind === "server" ? await Meter.start(place) : null;
  const startMs = performance.now();
  const share = Number(await told(child));
  const passedMs = performance.now() - startMs;
  const used = await meter?.stop();
  await endChild(child);
  await close();
  const parameters = { groups, partitions };
  return [
    sampleOf("CPU of a process when idle", system, "%", share, parameters),
    ...(used?.calls == null
      ? []
      : [sampleOf("calls at the store when idle", system, "calls/s", (used.calls * 1_000) / passedMs, parameters)]),
    ...(used?.connections == null
      ? []
      : [sampleOf("connections when idle", system, "connections", used.connections, parameters)]),
  ];
};

const question = (manner: Manner, isRare: boolean): Question => ({
  name: "idle",
  title: `${manner.groups} idle groups on ${manner.partitions} partitions`,
  isRare,
  mostRuns: 1,
  ask: (system) => ask(system, manner),
});

export const idles: readonly Question[] = [
  question({ groups: 1, partitions: 1 }, false),
  question({ groups: 100, partitions: 1 }, false),
  question({ groups: 100, partitions: 16 }, true),
  question({ groups: 1_000, partitions: 1 }, true),
];
