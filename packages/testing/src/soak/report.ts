import type { History } from "./history.ts";
import type { MemoryTrend } from "./memory.ts";
import type { FaultKind } from "./schedule.ts";

/** How deliveries of a group went. */
export interface DeliveryCounts {
  readonly granted: number;
  /** With an attempt above 1. */
  readonly redelivered: number;
  readonly acked: number;
  readonly dead: number;
  readonly retried: number;
  readonly released: number;
  /** Settles that were refused, by the reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Settles whose answer never came. */
  readonly unanswered: number;
  readonly renewed: number;
  readonly renewalsRefused: number;
  readonly handled: number;
  readonly highestAttempt: number;
}

/** What a soak found. */
export interface SoakReport {
  readonly ok: boolean;
  readonly store: string;
  readonly seed: number;
  readonly processes: number;
  /** 0: the processes were on this one. */
  readonly hosts: number;
  readonly pace: number;
  readonly seconds: number;
  readonly node: string;
  /** Where everything that was written down is; null when it was removed. */
  readonly folder: string | null;
  readonly violations: readonly string[];
  readonly appended: number;
  readonly groups: Readonly<Record<string, DeliveryCounts>>;
  /** `thread`: events that kill the thread that works on them. */
  readonly faults: Readonly<Record<FaultKind | "thread", number>>;
  readonly supervision: {
    readonly started: number;
    readonly failed: number;
    readonly unresponsive: number;
    readonly rollsFinished: number;
    readonly rollsAbandoned: number;
  };
  readonly memory: { readonly parent: MemoryTrend; readonly child: MemoryTrend };
}

export const countDeliveries = (history: History, group: string): DeliveryCounts => {
  const counts = { granted: 0, redelivered: 0, acked: 0, dead: 0, retried: 0, released: 0, unanswered: 0, renewed: 0 };
  const more = { renewalsRefused: 0, handled: 0, highestAttempt: 0 };
  const refused: Record<string, number> = {};
  for (const { granted, settled, renewed, handledTokens } of history.of(group)) {
    counts.granted += granted.length;
    counts.redelivered += granted.filter(({ attempt }) => attempt > 1).length;
    more.handled += handledTokens.length;
    for (const { attempt } of granted) more.highestAttempt = Math.max(more.highestAttempt, attempt);
    for (const { result } of renewed) {
      if (typeof result === "number") counts.renewed += 1;
      else more.renewalsRefused += 1;
    }
    for (const { result } of settled) {
      if (result === "acked") counts.acked += 1;
      else if (result === "dead") counts.dead += 1;
      else if (result === "retrying") counts.retried += 1;
      else if (result === "pending") counts.released += 1;
      else if (result === "unknown") counts.unanswered += 1;
      else refused[result.slice(6)] = (refused[result.slice(6)] ?? 0) + 1;
    }
  }
  return { ...counts, ...more, refused };
};

/** How many violations are printed; the JSON has all. */
const SHOWN = 20;

/** The report for people. */
export const printReport = (report: SoakReport): string => {
  const { store, seed, processes, hosts, seconds, appended, groups, faults, supervision, memory, violations } = report;
  const rows: (readonly string[])[] = [
    ["store", store],
    ["seed, hosts, processes, seconds, node", `${seed}, ${Math.max(1, hosts)}, ${processes}, ${seconds}, ${report.node}`],
    ["events appended", String(appended)],
    ["faults", pairs(faults)],
    ["supervision", pairs(supervision)],
    ...Object.entries(groups).map(([group, { refused, ...counts }]) => [
      `group ${group}`,
      `${pairs(counts)}, refused: ${pairs(refused) || "none"}`,
    ]),
    ["memory of the parent", trend(memory.parent)],
    ["memory of a child", trend(memory.child)],
  ];
  const width = Math.max(...rows.map(([name = ""]) => name.length));
  const lines = rows.map(([name = "", value = ""]) => `${name.padEnd(width)}  ${value}`);
  const verdict = violations.length === 0 ? "no violation" : `${violations.length} violations`;
  return [
    ...lines,
    "",
    verdict,
    ...violations.slice(0, SHOWN).map((violation) => `  ${violation}`),
    report.folder === null ? "" : `written down in ${report.folder}`,
  ].join("\n");
};

const pairs = (counts: object): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

const trend = ({ samples, firstMiB, lastMiB, maxMiB }: MemoryTrend): string =>
  `first quarter ${firstMiB} MiB, last quarter ${lastMiB} MiB, at most ${maxMiB} MiB (${samples} samples)`;
