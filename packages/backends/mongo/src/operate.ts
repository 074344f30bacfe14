/**
 * How an operation on a group runs. The arithmetic of core is synchronous and works over what was loaded. What it misses is loaded, and it
 * begins again from the start; what it changes is written in one transaction, if nobody has changed the same before.
 */
import { RheoError } from "@rheo/core";
import { findGroup, type Missed, missingError, type StoredGroup, whyMissing } from "./catalog.ts";
import { groupId } from "./ids.ts";
import { flush } from "./records/flush.ts";
import type { GroupRecords } from "./records/group-records.ts";
import { load, loadGroup } from "./records/load.ts";
import { Missing } from "./records/missing.ts";
import { MongoProgressStore } from "./records/progress-store.ts";
import type { Store, Unit } from "./store.ts";

/** What an operation does. It may run several times, and only the last run counts. */
export type Work<Result> = (store: MongoProgressStore, records: GroupRecords) => Result;

/** Loads of one operation, at most: each brings a page, and only replays of all of a long stream need many. */
const MAX_LOADS = 100_000;

/** Runs the arithmetic over records that are loaded as it asks for them. */
export const compute = async <Result>(unit: Unit, records: GroupRecords, work: Work<Result>): Promise<Result> => {
  const store = new MongoProgressStore(records);
  for (let loads = 0; ; loads++) {
    records.forgetChanges();
    try {
      return work(store, records);
    } catch (error) {
      if (!(error instanceof Missing) || loads >= MAX_LOADS) throw error;
      await load(unit, records, error.need);
    }
  }
};

/** The records of a group; what is missing is thrown. @throws stream_not_found, group_not_found */
export const requireRecords = async (unit: Unit, stream: string, name: string): Promise<GroupRecords> => {
  const records = await findRecords(unit, stream, name);
  if (typeof records === "string") throw missingError(records, stream, name);
  return records;
};

/** The same, where it is no error that they are missing. */
export const findRecords = async (unit: Unit, stream: string, name: string): Promise<GroupRecords | Missed> => {
  const { groups } = unit.store.memory;
  const known = groups.get(stream, name);
  if (known !== undefined) {
    const records = await loadGroup(unit, known);
    if (records !== null) return records;
    groups.forget(stream, name);
  }
  const found = await lookUp(unit, stream, name);
  if (found === "stream_not_found") return found;
  if (found !== "group_not_found") groups.put(stream, name, found);
  const records = found === "group_not_found" ? null : await loadGroup(unit, found);
  return records ?? whyMissing(unit, stream);
};

const lookUp = async (unit: Unit, stream: string, name: string): Promise<StoredGroup | Missed> => {
  try {
    return (await findGroup(unit, stream, name)) ?? "group_not_found";
  } catch (error) {
    if (RheoError.is(error, "stream_not_found")) return "stream_not_found";
    throw error;
  }
};

/**
 * Reads and writes a whole group in one transaction. `prepare` loads what the arithmetic would otherwise ask for page by page.
 * @throws stream_not_found, group_not_found, unavailable, outcome_unknown
 */
export const change = <Result>(
  store: Store,
  stream: string,
  name: string,
  work: Work<Result>,
  prepare?: (unit: Unit, records: GroupRecords) => Promise<void>,
): Promise<Result> =>
  store.write(async (unit) => {
    const records = await requireRecords(unit, stream, name);
    await prepare?.(unit, records);
    const result = await compute(unit, records, work);
    if (!records.isChanged) return result;
    await flush(unit, records);
    // members of other processes hear of it
    const { group, record, stream: parent } = records.group;
    await unit.collections.groups.updateOne({ _id: groupId(parent, record.name), group }, { $inc: { reopened: 1 } }, unit.within);
    return result;
  });
