/** Exchange on a single server: settles and fetches in one script. */
import type { ExchangeRequest, FetchRequest, SettleResult } from "@rheo/core";
import { RheoError } from "@rheo/core";
import { LIMITS, type progress } from "@rheo/core/internal";
import { type Exchanged, exchangeArguments, nothing, toExchanged } from "./exchanged.ts";
import { SCAN_PER_PLACE } from "./lua/take-new.lua.ts";
import { DELIVERIES } from "./program.ts";
import { pagesOf } from "./settle.ts";
import { checkGroup, type Part, type Shards } from "./shards.ts";

/** @throws stream_not_found, group_not_found - only where something was to be fetched */
export const exchange = async (shards: Shards, request: ExchangeRequest, before: Readonly<progress.Turn>): Promise<Exchanged> => {
  const pages = pagesOf(request.settlements);
  if (pages === null) return exchangePage(shards, request, before);
  const settled: SettleResult[][] = request.settlements.map(() => []);
  let exchanged = nothing(request, before);
  for (const [at, { settlements, origins }] of pages.entries()) {
    const fetch = at === pages.length - 1 ? request.fetch : null;
    exchanged = await exchangePage(shards, { ...request, settlements, fetch }, before);
    for (const [index, results] of exchanged.answer.settled.entries()) settled[origins[index] ?? 0]?.push(...results);
  }
  return { ...exchanged, answer: { ...exchanged.answer, settled } };
};

const exchangePage = async (shards: Shards, request: ExchangeRequest, before: Readonly<progress.Turn>): Promise<Exchanged> => {
  const parts = await findParts(shards, request, before);
  const [part] = parts;
  if (part === undefined) return nothing(request, before);
  if (request.fetch !== null) checkGroup(parts, request.stream, request.group);
  if (part.answer[0] === "group") return nothing(request, before);
  let exchanged = toExchanged(request, part);
  // one script looks at so many events; a fetch may look at more while it has found nothing
  const { fetch } = request;
  for (let looked = scanOf(fetch); exchanged.isUnfinished && looked < LIMITS.scanPerFetch; looked += scanOf(fetch)) {
    const again = await findParts(shards, { ...request, settlements: [] }, exchanged.turn);
    checkGroup(again, request.stream, request.group);
    const [next] = again;
    if (next === undefined) break;
    const found = toExchanged({ ...request, settlements: [] }, next);
    exchanged = {
      ...found,
      answer: { ...found.answer, settled: exchanged.answer.settled, died: [...exchanged.answer.died, ...found.answer.died] },
    };
  }
  return exchanged;
};

/** Events that one script examines at least before it stops by itself. */
const scanOf = (fetch: FetchRequest | null): number => Math.max(SCAN_PER_PLACE, fetch?.limit ?? 0);

/** None where the stream is not there and nothing was to be fetched. */
const findParts = async (shards: Shards, request: ExchangeRequest, turn: Readonly<progress.Turn>): Promise<readonly Part[]> => {
  try {
    return await shards.all(DELIVERIES.exchange, request.stream, request.group, (partitions) =>
      exchangeArguments(request, partitions, turn, partitions.length),
    );
  } catch (error) {
    if (request.fetch === null && RheoError.is(error, "stream_not_found")) return [];
    throw error;
  }
};
