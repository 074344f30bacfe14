/** A backlog drained by a supervised consumer, in its manners: inline or through threads, sizes of events, partitions, processes. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Execution } from "@rheo/runtime";
import { backlog, countOf, fill, GROUP, STREAM } from "../backlog.ts";
import { drainHere, drainName } from "../draining.ts";
import { Member } from "../member.ts";
import type { PeerInUse } from "../peers/peer.ts";
import { lasting, type Parameters, type Question, rate, secondsOf } from "../question.ts";
import { SMALL_BYTES } from "../sample.ts";
import { type Opened, type System, sharedUrlOf, tidy } from "../systems.ts";

/** A slow queue need not be watched to the end of a backlog, in ms. */
const LONGEST_MS = 4_000;
/** Between looks whether what a peer handled is completed, too, in ms. */
const LOOK_MS = 2;

interface Manner {
  readonly execution: Execution;
  readonly bytes: number;
  readonly partitions: number;
  readonly processes: number;
}

const PLAIN: Omit<Manner, "execution"> = { bytes: SMALL_BYTES, partitions: 1, processes: 1 };

/** The same by processes that are there already, from the word to begin. */
const drainElsewhere = async (opened: Opened, { execution, processes }: Manner, events: number): Promise<number> => {
  const url = sharedUrlOf(opened.place);
  if (url === null) throw new RangeError("processes share a file or a server only");
  const names = Array.from({ length: processes }, () => `drain-${execution}` as const);
  const members = await Promise.all(names.map((name) => Member.start(url, name)));
  const seconds = await secondsOf(async () => {
    for (const member of members) member.begin();
    await Member.counted(members, events);
    await opened.rheo.whenCaughtUp(STREAM, GROUP);
  });
  await Promise.all(members.map((member) => member.end("SIGTERM")));
  return seconds;
};

/** Events per second. */
const drain = async (system: System, manner: Manner, events: number): Promise<number> => {
  const opened = await system.open();
  await backlog(opened, { ...manner, events });
  const seconds =
    manner.processes === 1
      ? await drainHere(opened.rheo, manner.execution, events)
      : await drainElsewhere(opened, manner, events);
  await opened.close();
  return events / seconds;
};

/** Events per second from the first call of a handler that does next to nothing until all is completed, or until that took long enough. */
const drainPeer = async ({ peer, opened, scratch }: PeerInUse, events: number, bytes: number): Promise<number> => {
  await fill({ events, bytes }, opened.enqueue);
  await tidy(peer.host, scratch.url);
  let startMs = 0;
  let handled = 0;
  let resolveAll = (): void => undefined;
  const all = new Promise<void>((resolve) => (resolveAll = resolve));
  const stop = await opened.consume("drain", () => {
    if (handled === 0) {
      startMs = performance.now();
      setTimeout(resolveAll, LONGEST_MS);
    }
    if (++handled === events) resolveAll();
  });
  await all;
  while (handled === events && !(await opened.isDrained())) await sleep(LOOK_MS);
  const perSecond = (handled * 1_000) / (performance.now() - startMs);
  await stop();
  return perSecond;
};

const ofPeers = (name: string, bytes: number, parameters: Parameters): Required<Question>["ofPeers"] => ({
  asked: "drain",
  ask: async (inUse, answerer, scale) => {
    const events = countOf(Math.min(scale.events, inUse.peer.mostEvents ?? scale.events), bytes);
    return [rate(name, answerer, await lasting(events, (some) => drainPeer(inUse, some, bytes)), 1, parameters)];
  },
});

const question = (manner: Manner, isRare: boolean): Question => {
  const { execution, bytes, partitions, processes } = manner;
  const name = drainName(execution);
  const parameters = { bytes, partitions, processes };
  const isComparable = execution === "inline" && bytes === SMALL_BYTES && partitions === 1 && processes === 1;
  return {
    name: execution === "inline" ? "drain-inline" : "drain-threads",
    title: `${name}, events of ${bytes} B, ${partitions} partitions, ${processes} processes`,
    isRare,
    fits: ({ kind }) => processes === 1 || kind === "file" || kind === "server",
    ask: async (system, scale) => {
      const events = countOf(scale.events, bytes);
      return [rate(name, system, await lasting(events, (some) => drain(system, manner, some)), 1, parameters)];
    },
    ...(isComparable ? { ofPeers: ofPeers(name, bytes, parameters) } : {}),
  };
};

/** Along each line of the grid; the rest of it is rare. */
const USUAL: readonly Manner[] = [
  { ...PLAIN, execution: "inline" },
  { ...PLAIN, execution: "worker" },
  ...[4_096, 65_536].flatMap((bytes) => (["inline", "worker"] as const).map((execution) => ({ ...PLAIN, execution, bytes }))),
  ...[4, 16].map((partitions) => ({ ...PLAIN, execution: "inline" as const, partitions })),
  ...[2, 4].map((processes) => ({ ...PLAIN, execution: "inline" as const, partitions: 4, processes })),
];

const GRID: readonly Manner[] = (["inline", "worker"] as const).flatMap((execution) =>
  [SMALL_BYTES, 4_096, 65_536].flatMap((bytes) =>
    [1, 2, 4, 8, 16].flatMap((partitions) => [1, 2, 3, 4].map((processes) => ({ execution, bytes, partitions, processes }))),
  ),
);

const isUsual = (manner: Manner): boolean =>
  USUAL.some((usual) => JSON.stringify(order(usual)) === JSON.stringify(order(manner)));
const order = ({ execution, bytes, partitions, processes }: Manner): readonly unknown[] => [
  execution,
  bytes,
  partitions,
  processes,
];

export const drains: readonly Question[] = [
  ...USUAL.map((manner) => question(manner, false)),
  ...GRID.filter((manner) => !isUsual(manner)).map((manner) => question(manner, true)),
];
