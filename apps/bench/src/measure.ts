/** The run: every system and every peer in turn for every question, then again, so that what else the machine does falls on all alike. */
import pc from "picocolors";
import type { Peer, PeerInUse } from "./peers/peer.ts";
import type { Question, Sample, Scale } from "./question.ts";
import type { System } from "./systems.ts";

/** What is said of an answer that is not there. */
export interface Remark {
  readonly question: string;
  readonly system: string;
  readonly text: string;
}

/** Peers, and how one is used for one measurement. */
export interface Comparison {
  readonly peers: readonly Peer[];
  readonly use: (peer: Peer, work: (inUse: PeerInUse) => Promise<readonly Sample[]>) => Promise<readonly Sample[]>;
}

export interface Plan {
  readonly questions: readonly Question[];
  readonly systems: readonly System[];
  readonly comparison: Comparison | null;
  readonly runs: number;
  readonly scale: Scale;
}

export interface Answers {
  readonly samples: readonly Sample[];
  readonly remarks: readonly Remark[];
}

export const measure = async (plan: Plan): Promise<Answers> => {
  const samples: Sample[] = [];
  const remarks: Remark[] = [];
  for (let run = 1; run <= plan.runs; run++) {
    for (const question of plan.questions) {
      const tell = (who: string): void => progress(`run ${run} of ${plan.runs}: ${question.title}, ${who}`);
      for (const system of plan.systems.filter((candidate) => question.fits?.(candidate) ?? true)) {
        tell(`${system.name} ${system.settings}`);
        samples.push(...(await question.ask(system, plan.scale)));
      }
      if (plan.comparison !== null) samples.push(...(await askPeers(question, plan.comparison, plan.scale, remarks, tell)));
    }
  }
  progress("");
  return { samples, remarks };
};

/** A peer that fails is remarked on and not asked the same again: the run goes on without it. */
const askPeers = async (
  { title, ofPeers }: Question,
  { peers, use }: Comparison,
  scale: Scale,
  remarks: Remark[],
  tell: (who: string) => void,
): Promise<readonly Sample[]> => {
  if (ofPeers === undefined) return [];
  const samples: Sample[] = [];
  for (const peer of peers) {
    const name = `${peer.name} ${peer.version}`;
    const settings = peer.settings[ofPeers.asked];
    if (settings === undefined || remarks.some(({ question, system }) => question === title && system === name)) continue;
    tell(`${name} ${settings}`);
    try {
      samples.push(...(await use(peer, (inUse) => ofPeers.ask(inUse, { name, settings }, scale))));
    } catch (error) {
      remarks.push({ question: title, system: name, text: `failed: ${String(error)}` });
    }
  }
  return samples;
};

const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${pc.dim(text)}`);
};
