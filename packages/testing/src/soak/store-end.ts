import type { Rheo } from "@rheo/core";
import type { SoakEnd } from "./checker.ts";

const PAGE = 1_000;

/** What the store says once everything has drained. */
export const readStore = async (
  rheo: Rheo,
  stream: string,
  groups: readonly string[],
): Promise<Pick<SoakEnd, "lag" | "leases" | "highWatermarks" | "deadLetters">> => {
  const byGroup = async <Value>(ask: (group: string) => Promise<Value>): Promise<Record<string, Value>> =>
    Object.fromEntries(await Promise.all(groups.map(async (group) => [group, await ask(group)] as const)));
  return {
    lag: await byGroup(async (group) => (await rheo.lag(stream, group)).lag),
    leases: await byGroup(async (group) => (await rheo.leases(stream, group)).length),
    highWatermarks: (await rheo.streamInfo(stream)).partitions.map(({ highWatermark }) => highWatermark),
    deadLetters: await byGroup((group) => readDeadLetters(rheo, stream, group)),
  };
};

const readDeadLetters = async (rheo: Rheo, stream: string, group: string): Promise<{ partition: number; sequence: number }[]> => {
  const letters: { partition: number; sequence: number }[] = [];
  for (let after: string | undefined; ; ) {
    const page = await rheo.deadLetters(stream, group, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    letters.push(...page.map(({ partition, sequence }) => ({ partition, sequence })));
    after = page.at(-1)?.eventId;
    if (page.length < PAGE) return letters;
  }
};
