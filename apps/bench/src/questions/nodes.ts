/** The same drain under several versions of Node, each in a process of its own. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Execution } from "@rheo/runtime";
import { drainName } from "../draining.ts";
import { type Question, rate, type Sample } from "../question.ts";
import { type System, urlOf } from "../systems.ts";
import { endChild, told } from "../told.ts";

const MODULE = fileURLToPath(new URL("../processes/drain.js", import.meta.url));

/** What `processes/drain.ts` tells. */
interface Told {
  readonly version: string;
  readonly perSecond: number;
}

const ask = async (system: System, execPath: string, execution: Execution, events: number): Promise<Sample> => {
  const { rheo, place, close } = await system.open();
  await rheo.close();
  const child = fork(MODULE, [urlOf(place), execution, `${events}`], { execPath });
  const { version, perSecond } = (await told(child)) as Told;
  await endChild(child);
  await close();
  return rate(`${drainName(execution)}, by Node`, system, perSecond, 1, { node: version });
};

export const nodeVersions: Question = {
  name: "nodes",
  title: "drains under versions of Node",
  ask: async (system, { events, nodes }) => {
    const samples: Sample[] = [];
    if (nodes.length === 0) return samples;
    for (const execution of ["inline", "worker"] as const)
      for (const node of [process.execPath, ...nodes]) samples.push(await ask(system, node, execution, events));
    return samples;
  },
};
