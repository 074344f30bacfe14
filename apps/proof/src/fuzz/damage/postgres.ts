/** Ways to damage what Rheo keeps in PostgreSQL. */
import type { Damage } from "./damage.ts";
import { FILTERED, GROUP } from "./shop.ts";
import { placeOf } from "./visit.ts";

/** Runs statements as a superuser. */
export interface Meddler {
  query(statement: string): Promise<unknown>;
}

const HIT = placeOf(0, 5);
const ofGroup = (name: string): string =>
  `group_id = (SELECT group_id FROM rheo.groups WHERE name = '${name}') AND partition = 0`;
const event = (change: string): string => `UPDATE rheo.events SET ${change} WHERE partition = 0 AND sequence = 5`;

const statements = async (meddler: Meddler, all: readonly string[]): Promise<void> => {
  for (const statement of all) await meddler.query(statement);
};
const record = (name: string, hit: readonly string[], ...all: readonly string[]): Damage<Meddler> => ({
  name,
  hit,
  apply: (meddler) => statements(meddler, all),
});
const progress = (name: string, ...all: readonly string[]): Damage<Meddler> => ({
  name,
  hit: null,
  apply: (meddler) => statements(meddler, all),
});
const nullable = (table: string, column: string): string => `ALTER TABLE rheo.${table} ALTER COLUMN ${column} DROP NOT NULL`;

export const POSTGRES_DAMAGES: readonly Damage<Meddler>[] = [
  record("metadata that is JSON of another kind", [HIT], event("metadata = '[1]'")),
  record("metadata a scalar", [HIT], event("metadata = 'null'")),
  record("payload NULL", [HIT], nullable("events", "payload"), event("payload = NULL")),
  record("metadata NULL", [HIT], nullable("events", "metadata"), event("metadata = NULL")),
  record("event missing", [HIT], "DELETE FROM rheo.events WHERE partition = 0 AND sequence = 5"),
  record(
    "events missing in a row",
    [placeOf(0, 7), placeOf(0, 8)],
    "DELETE FROM rheo.events WHERE partition = 0 AND sequence IN (7, 8)",
  ),
  progress("time infinite", event("timestamp = 'infinity'")),
  progress("id twice", "DROP INDEX IF EXISTS rheo.events_by_id", event("id = 'e0-6'")),
  progress("first sequence too high", "UPDATE rheo.partitions SET first_sequence = 6 WHERE partition = 0"),
  progress("partition missing", "DELETE FROM rheo.partitions WHERE partition = 0"),
  progress("cursor too high", `UPDATE rheo.cursors SET cursor = 1000 WHERE ${ofGroup(GROUP)}`),
  progress("cursor missing", `DELETE FROM rheo.cursors WHERE ${ofGroup(GROUP)}`),
  progress("cursor negative", `UPDATE rheo.cursors SET cursor = -5 WHERE ${ofGroup(GROUP)}`),
  progress("lease endless", `UPDATE rheo.leases SET last_sequence = 9007199254740991, open_set = NULL WHERE ${ofGroup(GROUP)}`),
  progress("lease reversed", `UPDATE rheo.leases SET last_sequence = 0, open_set = NULL WHERE ${ofGroup(GROUP)}`),
  progress("lease of nothing", `UPDATE rheo.leases SET open_set = '{}' WHERE ${ofGroup(GROUP)}`),
  progress("exception beyond the end", `UPDATE rheo.exceptions SET sequence = 5000 WHERE ${ofGroup(GROUP)}`),
  progress("options not JSON", `UPDATE rheo.groups SET options = '{"maxAtt' WHERE name = '${GROUP}'`),
  progress("options null", `UPDATE rheo.groups SET options = 'null' WHERE name = '${GROUP}'`),
  progress("filter that is none", `UPDATE rheo.groups SET filter = '["junk", 1]' WHERE name = '${FILTERED}'`),
  progress("progress missing", `DELETE FROM rheo.progress WHERE ${ofGroup(GROUP)}`),
  progress("partition count too high", "UPDATE rheo.streams SET partitions = 5"),
  progress("table missing", "DROP TABLE rheo.revocations"),
];
