/** Ways to damage a SQLite file. */
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import type { Random } from "@rheo/testing/internal";
import Database from "libsql";
import type { Damage } from "./damage.ts";
import { FILTERED, GROUP } from "./shop.ts";
import { type Place, placeOf } from "./visit.ts";

const HIT = placeOf(0, 5);

/** Runs statements as somebody would who knows no rules. */
const meddle = (file: string, ...statements: readonly string[]): void => {
  const database = new Database(file);
  try {
    for (const statement of statements) database.exec(statement);
    database.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
};

/** The schema no longer forbids it. */
const UNGUARDED = [
  "PRAGMA writable_schema = ON",
  "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ') STRICT', ')'), ' NOT NULL', ''), 'CHECK (state IN (''pending'', ''retrying'', ''leased'', ''parked''))', '') WHERE type = 'table' AND name LIKE 'rheo_%'",
  "PRAGMA writable_schema = RESET",
];

const event = (change: string): string => `UPDATE rheo_events SET ${change} WHERE partition = 0 AND sequence = 5`;
const ofGroup = (name: string): string =>
  `group_id = (SELECT group_id FROM rheo_groups WHERE name = '${name}') AND partition = 0`;

const record = (name: string, hit: readonly Place[], ...statements: readonly string[]): Damage<string> => ({
  name,
  hit,
  apply: (file) => meddle(file, ...statements),
});

const progress = (name: string, ...statements: readonly string[]): Damage<string> => ({
  name,
  hit: null,
  apply: (file) => meddle(file, ...UNGUARDED, ...statements),
});

/** One event is hit: all others must flow on. */
const RECORD_DAMAGES: readonly Damage<string>[] = [
  record("payload that is not JSON", [HIT], event(`payload = '{"kind": "order", "num'`)),
  record("payload that is empty", [HIT], event("payload = ''")),
  record("metadata that is not JSON", [HIT], event("metadata = '{\"correlationId\": '")),
  record("metadata that is JSON of another kind", [HIT], event("metadata = 'null'")),
  record("payload NULL", [HIT], ...UNGUARDED, event("payload = NULL")),
  record("payload of bytes", [HIT], ...UNGUARDED, event("payload = x'00ff10'")),
  record("metadata NULL", [HIT], ...UNGUARDED, event("metadata = NULL")),
  record("id NULL", [HIT], ...UNGUARDED, event("id = NULL")),
  record("key of bytes", [HIT], ...UNGUARDED, event("key = x'c3ff'")),
  record("time that is text", [HIT], ...UNGUARDED, event("time_ms = 'noon'")),
  record("time beyond all dates", [HIT], event("time_ms = 9000000000000000")),
  record("size that is text", [HIT], ...UNGUARDED, event("bytes = 'many'")),
  record("event missing", [HIT], "DELETE FROM rheo_events WHERE partition = 0 AND sequence = 5"),
  record(
    "events missing in a row",
    [placeOf(0, 7), placeOf(0, 8)],
    "DELETE FROM rheo_events WHERE partition = 0 AND sequence IN (7, 8)",
  ),
];

/** Records of progress, or of streams, are hit. */
const PROGRESS_DAMAGES: readonly Damage<string>[] = [
  progress("high watermark too high", "UPDATE rheo_partitions SET high_watermark = high_watermark + 100 WHERE partition = 0"),
  progress("high watermark too low", "UPDATE rheo_partitions SET high_watermark = 3 WHERE partition = 0"),
  progress("first sequence too high", "UPDATE rheo_partitions SET first_sequence = 6 WHERE partition = 0"),
  progress("cursor too high", `UPDATE rheo_heads SET cursor = 1000 WHERE ${ofGroup(GROUP)}`),
  progress("cursor negative", `UPDATE rheo_heads SET cursor = -5 WHERE ${ofGroup(GROUP)}`),
  progress("cursor text", `UPDATE rheo_heads SET cursor = 'x' WHERE ${ofGroup(GROUP)}`),
  progress("token too low", `UPDATE rheo_heads SET token = 0 WHERE ${ofGroup(GROUP)}`),
  progress("bitmap of wrong length", `UPDATE rheo_leases SET closed = x'ffffffffffffffffffff' WHERE ${ofGroup(GROUP)}`),
  progress("bitmap empty", `UPDATE rheo_leases SET closed = x'' WHERE ${ofGroup(GROUP)}`),
  progress("bitmap text", `UPDATE rheo_leases SET closed = 'abc' WHERE ${ofGroup(GROUP)}`),
  progress("lease reversed", `UPDATE rheo_leases SET last_sequence = 0 WHERE ${ofGroup(GROUP)}`),
  progress("lease endless", `UPDATE rheo_leases SET last_sequence = 9007199254740991 WHERE ${ofGroup(GROUP)}`),
  progress("lease held by NULL", `UPDATE rheo_leases SET consumer_id = NULL WHERE ${ofGroup(GROUP)}`),
  progress("lease of negative attempts", `UPDATE rheo_leases SET attempt = -7, takeovers = -3 WHERE ${ofGroup(GROUP)}`),
  progress("exception of no known state", `UPDATE rheo_exceptions SET state = 'x' WHERE ${ofGroup(GROUP)}`),
  progress("exception beyond the end", `UPDATE rheo_exceptions SET sequence = 5000 WHERE ${ofGroup(GROUP)}`),
  progress("exceptions miscounted", `UPDATE rheo_heads SET exceptions = 0 WHERE ${ofGroup(GROUP)}`),
  progress("head missing", `DELETE FROM rheo_heads WHERE ${ofGroup(GROUP)}`),
  progress("partition missing", "DELETE FROM rheo_partitions WHERE partition = 0"),
  progress("options not JSON", `UPDATE rheo_groups SET options = '{"maxAtt' WHERE name = '${GROUP}'`),
  progress("options null", `UPDATE rheo_groups SET options = 'null' WHERE name = '${GROUP}'`),
  progress("options empty", `UPDATE rheo_groups SET options = '{}' WHERE name = '${GROUP}'`),
  progress(
    "filter that is none",
    `UPDATE rheo_groups SET options = json_set(options, '$.filter', json('{"payload.a":{"like":1}}')) WHERE name = '${FILTERED}'`,
  ),
  progress("partition count too high", "UPDATE rheo_streams SET partitions = 5"),
  progress("partition count NULL", "UPDATE rheo_streams SET partitions = NULL"),
  progress("version of the future", "UPDATE rheo_meta SET value = 9999 WHERE name = 'schema_version'"),
  progress("table missing", "DROP TABLE rheo_revocations"),
];

export const SQLITE_DAMAGES: readonly Damage<string>[] = [...RECORD_DAMAGES, ...PROGRESS_DAMAGES];

/** Damage of the file itself, anywhere. */
interface FileDamage {
  readonly name: string;
  apply(file: string, random: Random): void;
}

export const FILE_DAMAGES: readonly FileDamage[] = [
  {
    name: "bits flipped",
    apply: (file, random) => {
      const bytes = readFileSync(file);
      for (let flips = 1 + random.below(MAX_FLIPS); flips > 0; flips--) {
        const at = random.below(bytes.length);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      }
      writeFileSync(file, bytes);
    },
  },
  {
    name: "tail cut off",
    apply: (file, random) => truncateSync(file, random.below(statSync(file).size)),
  },
  {
    name: "a run of bytes overwritten",
    apply: (file, random) => {
      const bytes = readFileSync(file);
      const at = random.below(bytes.length);
      bytes.fill(random.below(256), at, Math.min(bytes.length, at + random.below(MAX_RUN)));
      writeFileSync(file, bytes);
    },
  },
];
const MAX_FLIPS = 40;
const MAX_RUN = 9_000;
