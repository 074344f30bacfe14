/** A run of the command: starts what is measured, asks, keeps and shows the answers, and stops it all. */
import { basename, isAbsolute, relative } from "node:path";
import type { Command } from "commander";
import pc from "picocolors";
import { endWith } from "./end-with.ts";
import { type HostName, Hosts } from "./hosts.ts";
import { describeCommit, describeMachine, describeVersions } from "./machine.ts";
import { type Comparison, measure, type Plan } from "./measure.ts";
import { findNats } from "./nats-host.ts";
import { NoiseWatch } from "./noise.ts";
import { isBeside, PEERS, usePeer } from "./peers/index.ts";
import type { Peer } from "./peers/peer.ts";
import type { Question } from "./question.ts";
import { QUESTIONS, RUNTIME_QUESTIONS } from "./questions/index.ts";
import { recovery } from "./questions/recovery.ts";
import { toTable } from "./report.ts";
import { readKept } from "./results/file.ts";
import { EMPTY, type Kept, type Remark, type Session } from "./results/kept.ts";
import { Ledger } from "./results/ledger.ts";
import { UNEVEN, variation } from "./results/statistics.ts";
import { KNOWN_STORES, type Store, systemsOf } from "./systems.ts";

export const RUNTIME = "runtime";
export type Subject = Store | typeof RUNTIME;

export interface MeasureOptions {
  readonly question: readonly string[];
  readonly full: boolean;
  readonly runs: number;
  readonly events: number;
  readonly pings: number;
  readonly deep?: number;
  readonly node: readonly string[];
  readonly json?: string;
  readonly fresh: boolean;
  readonly compare: boolean;
  readonly postgresUrl?: string;
  readonly redisUrl?: string;
  readonly mongoUrl?: string;
  readonly natsUrl?: string;
}

/** Depths that a run of some minutes, and one of some hours, may have. */
const USUAL_DEPTH = 300_000;
const FULL_DEPTH = 10_000_000;

export const measureAll = async (given: readonly Subject[], options: MeasureOptions, command: Command): Promise<void> => {
  const ofRuntime = given.includes(RUNTIME);
  const named = given.filter((subject): subject is Store => subject !== RUNTIME);
  const stores = named.length > 0 ? named : ofRuntime ? (["memory"] as const) : KNOWN_STORES;
  const wanted = options.compare ? PEERS.filter((peer) => isBeside(peer, stores)) : [];
  if (options.compare && wanted.length === 0) command.error("error: --compare goes with postgres and redis");
  const { peers, missing } = present(wanted, options);
  const noise = new NoiseWatch();
  const before = options.json === undefined || options.fresh ? EMPTY : await readKept(options.json);
  const hosts = hostsOf([...stores, ...peers.map(({ host }) => host)], options);
  const session = await describeSession(hosts);
  const refusal = refusalOf(before, session);
  if (refusal !== null) {
    await hosts.stop();
    command.error(`error: ${refusal}; name another file, or add --fresh`);
  }
  const now = (): Session => ({ ...session, endedAt: new Date().toISOString(), noise: noise.read() });
  const ledger = new Ledger(before, options.json ?? null, now);
  for (const remark of missing) ledger.remark(remark);
  const stop = (): Promise<void> => {
    ledger.seal();
    return hosts.stop();
  };
  endWith(stop, options.compare ? (error) => ledger.remark(strayOf(error)) : null);
  try {
    await measure(await planOf(ofRuntime ? RUNTIME_QUESTIONS : QUESTIONS, stores, peers, options, hosts), ledger, noise);
    for (const remark of documentedRecoveries(peers, options)) ledger.remark(remark);
    await ledger.save();
    show(ledger.read(), now());
  } finally {
    await hosts.stop();
  }
};

/** A word of the command without where on this machine things are. */
const asSeenFromHere = (word: string): string => {
  if (!isAbsolute(word)) return word;
  const path = relative(process.cwd(), word);
  return path.startsWith("..") ? `…/${basename(word)}` : path;
};

/** What does not change while it runs. */
const describeSession = async (hosts: Hosts): Promise<Omit<Session, "endedAt" | "noise">> => ({
  startedAt: new Date().toISOString(),
  commit: describeCommit(),
  command: ["npm run bench --", ...process.argv.slice(2).map(asSeenFromHere)].join(" "),
  machine: describeMachine(),
  versions: { ...describeVersions(), ...(await hosts.versions()) },
});

const planOf = async (
  asked: readonly Question[],
  stores: readonly Store[],
  peers: readonly Peer[],
  options: MeasureOptions,
  hosts: Hosts,
): Promise<Plan> => {
  const { runs, events, pings, node: nodes, deep = options.full ? FULL_DEPTH : USUAL_DEPTH } = options;
  const use: Comparison["use"] = (peer, ask) => usePeer(hosts, peer, ask);
  return {
    questions: chosen(asked, options),
    systems: (await Promise.all(stores.map((store) => systemsOf(store, hosts)))).flat(),
    comparison: peers.length > 0 ? { peers, use } : null,
    runs,
    scale: { events, pings, deep, nodes },
  };
};

/** Numbers of two machines, or of two versions, are not to stand in one row. */
const refusalOf = (before: Kept, now: Pick<Session, "machine" | "versions">): string | null => {
  const last = before.sessions.at(-1);
  if (last === undefined) return null;
  if (JSON.stringify(last.machine) !== JSON.stringify(now.machine)) return "the results there are of another machine";
  const changed = Object.keys(now.versions).filter((name) => (last.versions[name] ?? now.versions[name]) !== now.versions[name]);
  return changed.length > 0 ? `the results there are of other versions of ${changed.join(", ")}` : null;
};

/** With other people's code in the process, an error that nobody waits for is reported, and the run goes on. */
const strayOf = (error: Error): Remark => ({ question: "at any time", system: "unknown", text: `not caught: ${String(error)}` });

/** Peers whose server can be had, and what is said of the others. */
const present = (
  peers: readonly Peer[],
  { natsUrl }: MeasureOptions,
): { readonly peers: readonly Peer[]; readonly missing: readonly Remark[] } => {
  const isThere = ({ host }: Peer): boolean => host !== "nats" || natsUrl !== undefined || findNats() !== null;
  const text = "not measured: there is no nats-server on this machine";
  const absent = peers.filter((peer) => !isThere(peer));
  for (const { name } of absent) console.error(pc.yellow(`${name}: ${text}`));
  return { peers: peers.filter(isThere), missing: absent.map(({ name }) => ({ question: "all", system: name, text })) };
};

const hostsOf = (names: readonly (Store | HostName)[], options: MeasureOptions): Hosts =>
  new Hosts(names, {
    postgres: options.postgresUrl ?? null,
    redis: options.redisUrl ?? null,
    mongo: options.mongoUrl ?? null,
    nats: options.natsUrl ?? null,
  });

const chosen = (asked: readonly Question[], { question: names, full }: MeasureOptions): readonly Question[] => {
  const all = names.length === 0 ? asked : [...new Set([...QUESTIONS, ...RUNTIME_QUESTIONS])];
  return all.filter(({ name, isRare = false }) => (names.length === 0 || names.includes(name)) && (full || !isRare));
};

/** Beside what was measured of Rheo: minutes and hours are not worth waiting for. */
const documentedRecoveries = (peers: readonly Peer[], { question }: MeasureOptions): readonly Remark[] =>
  peers.flatMap(({ name, version, recovery: text }) =>
    text === null || (question.length > 0 && !question.includes(recovery.name))
      ? []
      : [{ question: "SIGKILL → events elsewhere", system: `${name} ${version}`, text }],
  );

const show = (kept: Kept, { machine, versions, noise }: Session): void => {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.platform}, ${named.join(", ")}`);
  const uneven = variation(noise.calibrations);
  const stolen = noise.stolen === null ? "" : `, ${noise.stolen} % stolen by the host`;
  console.log(
    `load ${noise.loadBefore} before, ${noise.loadAfter} at the end${stolen}, calibration ± ${(uneven * 100).toFixed(1)} %`,
  );
  if (noise.loadBefore > machine.cores / 2) console.log(pc.yellow("The machine was busy: take these numbers with care."));
  if (uneven > UNEVEN) console.log(pc.yellow("The machine was uneven: small differences mean nothing."));
  console.log(toTable(kept));
};
