/** What a replay or reset counts and re-opens, found where the events are, so that a long stream does not come into memory with its content. */
import type { EventQuery, EventRecord, Filter } from "@rheo/core";
import { compileFilter, queryMatcher } from "@rheo/core/internal";
import { readMatching } from "./events.ts";
import { filterQuery } from "./filter-query.ts";
import type { GroupRecords } from "./records/group-records.ts";
import type { Unit } from "./store.ts";

/** Events read at a time, and their bytes. */
const PAGE = 1_000;
const PAGE_BYTES = 8_388_608;

/** Loads the offered events that the query, if there is one, and the group's filter let through. `partitions`: null for all. */
export const loadMatching = async (
  unit: Unit,
  records: GroupRecords,
  query: EventQuery | null,
  partitions: readonly number[] | null,
): Promise<void> => {
  const { filter } = records.group.record.options;
  if (query === null && filter === null) return;
  records.isFiltered = true;
  for (const part of records.partitions) {
    const { partition } = part.state;
    const isWanted = (partitions?.includes(partition) ?? true) && (query?.partitions.includes(partition) ?? true);
    part.matching = isWanted ? await matchingIn(unit, records, query, partition) : [];
  }
};

const matchingIn = async (
  unit: Unit,
  records: GroupRecords,
  query: EventQuery | null,
  partition: number,
): Promise<EventRecord[]> => {
  const { record, stream } = records.group;
  const { head, state } = records.at(partition);
  const until = Math.min(query?.until[partition] ?? head.cursor, head.cursor);
  const passes = compileFilter(record.options.filter);
  const matches = query === null ? passes : queryMatcher(query);
  const wanted = {
    fromMs: query?.fromMs ?? null,
    toMs: query?.toMs ?? null,
    query: filterQuery(both(query?.filter ?? null, record.options.filter)),
  };
  const found: EventRecord[] = [];
  for (let after = Math.max(query?.after[partition] ?? 0, state.firstSequence - 1); ; ) {
    const slice = { stream, partition, after, until, order: "asc", limit: PAGE, maxBytes: PAGE_BYTES } as const;
    const page = after < until ? await readMatching(unit, slice, wanted) : [];
    for (const event of page)
      if (matches(record.stream, event) && passes(record.stream, event)) found.push(withoutContent(event));
    const last = page.at(-1);
    if (last === undefined) return found;
    after = last.sequence;
  }
};

const both = (a: Filter | null, b: Filter | null): Filter | null => (a === null ? b : b === null ? a : { and: [a, b] });

const withoutContent = ({ id, partition, sequence, timestampMs, type, key }: EventRecord): EventRecord => ({
  id,
  partition,
  sequence,
  timestampMs,
  type,
  key,
  metadata: "{}",
  payload: "null",
});
