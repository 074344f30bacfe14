/** The run: every system and every peer in turn for every question, then again, so that what else the machine does falls on all alike. */
import pc from "picocolors";
import type { NoiseWatch } from "./noise.ts";
import type { Peer, PeerInUse } from "./peers/peer.ts";
import type { Question, Sample, Scale } from "./question.ts";
import type { Ledger } from "./results/ledger.ts";
import type { Opened, System } from "./systems.ts";
import { within } from "./within.ts";

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

/** One measurement of one system at most, in ms: what got stuck does not hold up the run. */
const LONGEST_MS = 600_000;
const CLOSE_MS = 10_000;

/** Something to be asked of somebody. */
interface Turn {
  readonly question: Question;
  readonly system: string;
  readonly ask: () => Promise<readonly Sample[]>;
}

/** What was answered already is not asked again. Who fails is remarked on and not asked the same again: the run goes on. */
export const measure = async (plan: Plan, ledger: Ledger, noise: NoiseWatch): Promise<void> => {
  const failed = new Set<string>();
  for (let run = 1; run <= plan.runs; run++) {
    for (const turn of plan.questions.flatMap((question) => turnsOf(question, plan))) {
      const { question, system, ask } = turn;
      const asked = { question: question.title, system };
      const name = JSON.stringify(asked);
      if (failed.has(name) || run > (question.mostRuns ?? run) || ledger.runs(asked) >= run) continue;
      tell(`run ${run} of ${plan.runs}: ${question.title}, ${system}`);
      noise.calibrate();
      try {
        ledger.answer(question.name, asked, await ask());
      } catch (error) {
        failed.add(name);
        ledger.remark({ ...asked, text: `failed: ${String(error)}` });
      }
      await ledger.save();
    }
  }
  if (process.stderr.isTTY) tell("");
};

const turnsOf = (question: Question, { systems, comparison, scale }: Plan): readonly Turn[] => {
  const ours = systems
    .filter((system) => question.fits?.(system) ?? true)
    .map((system): Turn => ({ question, system: fullName(system), ask: () => askIn(system, question, scale) }));
  return comparison === null ? ours : [...ours, ...turnsOfPeers(question, comparison, scale)];
};

/** What a question that failed left open would disturb those after it. */
const askIn = async (system: System, question: Question, scale: Scale): Promise<readonly Sample[]> => {
  const places: Opened[] = [];
  const open = async (): Promise<Opened> => {
    const opened = await system.open();
    places.push(opened);
    return opened;
  };
  try {
    return await within(LONGEST_MS, question.ask({ ...system, open }, scale));
  } catch (error) {
    await Promise.allSettled(places.map((opened) => within(CLOSE_MS, opened.close())));
    throw error;
  }
};

const turnsOfPeers = (question: Question, { peers, use }: Comparison, scale: Scale): readonly Turn[] => {
  const { ofPeers } = question;
  if (ofPeers === undefined) return [];
  return peers.flatMap((peer): Turn[] => {
    const settings = peer.settings[ofPeers.asked];
    if (settings === undefined) return [];
    const answerer = { name: `${peer.name} ${peer.version}`, settings };
    return [{ question, system: fullName(answerer), ask: () => use(peer, (inUse) => ofPeers.ask(inUse, answerer, scale)) }];
  });
};

const fullName = ({ name, settings }: { readonly name: string; readonly settings: string }): string =>
  `${name} ${settings}`.trim();

/** On a terminal in one line, elsewhere in a line each. */
const tell = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${pc.dim(text)}`);
  else process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
};
