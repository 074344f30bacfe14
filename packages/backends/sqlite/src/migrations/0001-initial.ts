/**
 * Version 1. Tables are STRICT. Wide rows (events, exceptions, dead letters) are rowid tables: in a clustered table every
 * comparison on the way to a row would read the whole of it, 16 MiB payloads included. Narrow ones are clustered on their key.
 */
export const INITIAL = `
CREATE TABLE rheo_streams (
  stream_id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  partitions INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;

-- One row per partition, updated by the transaction that appends: its lock makes commit order sequence order (L1).
CREATE TABLE rheo_partitions (
  stream_id INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL DEFAULT 1,
  high_watermark INTEGER NOT NULL DEFAULT 0,
  latest_ms INTEGER,               -- greatest time_ms ever appended
  largest_bytes INTEGER NOT NULL DEFAULT 0,  -- greatest size ever appended: tells when a byte limit cannot matter
  PRIMARY KEY (stream_id, partition)
) STRICT, WITHOUT ROWID;

-- The payload is last, so that what stands before it is read without its overflow pages.
CREATE TABLE rheo_events (
  stream_id INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  latest_ms INTEGER NOT NULL,      -- greatest time_ms of the partition up to here: rises, so a time is found by bisection
  bytes INTEGER NOT NULL,
  id TEXT NOT NULL,
  type TEXT,
  key TEXT,
  metadata TEXT NOT NULL,
  payload TEXT NOT NULL,
  PRIMARY KEY (stream_id, partition, sequence)  -- reading in order
) STRICT;
-- An id is there once in a stream (L4); also finds an event by id.
CREATE UNIQUE INDEX rheo_events_by_id ON rheo_events (stream_id, id);

-- Ids are never used again (AUTOINCREMENT), so what a process remembers of a group cannot fit a later one of that name.
CREATE TABLE rheo_groups (
  group_id INTEGER PRIMARY KEY AUTOINCREMENT,
  stream_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  options TEXT NOT NULL,           -- JSON
  paused INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL,
  UNIQUE (stream_id, name)
) STRICT;

CREATE TABLE rheo_heads (
  group_id INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  token INTEGER NOT NULL,
  reset_token INTEGER NOT NULL,
  skipped INTEGER NOT NULL DEFAULT 0,
  start INTEGER NOT NULL,                    -- where the group began: what is at or below was never offered to it
  exceptions INTEGER NOT NULL DEFAULT 0,     -- how many there are in rheo_exceptions; kept by triggers
  PRIMARY KEY (group_id, partition)
) STRICT, WITHOUT ROWID;

-- One row per fetched batch, gone when the batch is settled.
CREATE TABLE rheo_leases (
  group_id INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  token INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  closed BLOB,                     -- positions that are not part of it, as bits from first_sequence
  open INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  takeovers INTEGER NOT NULL,
  alone INTEGER NOT NULL,
  consumer_id TEXT NOT NULL,
  leased_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  first_failed_at_ms INTEGER,
  PRIMARY KEY (group_id, partition, token, first_sequence)
) STRICT, WITHOUT ROWID;

-- One row per delivery that left the happy path.
CREATE TABLE rheo_exceptions (
  group_id INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'retrying', 'leased', 'parked')),
  attempt INTEGER NOT NULL,
  takeovers INTEGER NOT NULL,
  token INTEGER NOT NULL,
  alone INTEGER NOT NULL,
  consumer_id TEXT,
  leased_at_ms INTEGER NOT NULL,
  due_at_ms INTEGER,
  key TEXT,
  first_failed_at_ms INTEGER,
  failed_at_ms INTEGER,
  reason TEXT,
  stack TEXT,
  PRIMARY KEY (group_id, partition, sequence)
) STRICT;
-- The longest due first, and whether any is.
CREATE INDEX rheo_exceptions_by_due ON rheo_exceptions (group_id, partition, due_at_ms, sequence) WHERE due_at_ms IS NOT NULL;
-- What is in flight, without a walk over what only waits.
CREATE INDEX rheo_exceptions_leased ON rheo_exceptions (group_id, partition, due_at_ms, alone) WHERE state = 'leased';
-- Counted as they come and go: each fetch asks how many there are, and there may be 100,000.
CREATE TRIGGER rheo_exceptions_added AFTER INSERT ON rheo_exceptions BEGIN
  UPDATE rheo_heads SET exceptions = exceptions + 1 WHERE group_id = NEW.group_id AND partition = NEW.partition;
END;
CREATE TRIGGER rheo_exceptions_removed AFTER DELETE ON rheo_exceptions BEGIN
  UPDATE rheo_heads SET exceptions = exceptions - 1 WHERE group_id = OLD.group_id AND partition = OLD.partition;
END;

CREATE TABLE rheo_dead_letters (
  group_id INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  consumer_id TEXT NOT NULL,
  first_failed_at_ms INTEGER NOT NULL,
  dead_at_ms INTEGER NOT NULL,
  reason TEXT NOT NULL,
  stack TEXT,
  PRIMARY KEY (group_id, partition, sequence)
) STRICT;
-- Where a page of dead letters goes on when the event itself was trimmed.
CREATE INDEX rheo_dead_letters_by_event ON rheo_dead_letters (group_id, event_id);

CREATE TABLE rheo_revocations (
  group_id INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  token INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  closed BLOB,
  why TEXT NOT NULL,
  PRIMARY KEY (group_id, partition, token, first_sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE rheo_members (
  group_id INTEGER NOT NULL,
  consumer_id TEXT NOT NULL,
  last_seen_at_ms INTEGER NOT NULL,
  PRIMARY KEY (group_id, consumer_id)
) STRICT, WITHOUT ROWID;

-- Which paths of a stream have an index; its name is made of both.
CREATE TABLE rheo_indexes (
  stream_id INTEGER NOT NULL,
  path TEXT NOT NULL,
  PRIMARY KEY (stream_id, path)
) STRICT, WITHOUT ROWID;

-- For people and other programs: read only, and the columns stay when the tables change. Streams whose names begin with _ are Rheo's own.
CREATE VIEW rheo_events_view AS
SELECT s.name AS stream, e.partition, e.sequence, e.id, strftime('%Y-%m-%dT%H:%M:%fZ', e.time_ms / 1000.0, 'unixepoch') AS time,
  e.type, e.key, e.metadata, e.payload
FROM rheo_events e JOIN rheo_streams s USING (stream_id) WHERE substr(s.name, 1, 1) <> '_';

CREATE VIEW rheo_lag_view AS
SELECT stream, group_name, partition, frontier, high_watermark, high_watermark - frontier AS lag
FROM (
  SELECT s.name AS stream, g.name AS group_name, h.partition, p.high_watermark,
    MAX(p.first_sequence - 1, MIN(
      h.cursor,
      IFNULL((SELECT MIN(l.first_sequence) FROM rheo_leases l WHERE l.group_id = h.group_id AND l.partition = h.partition) - 1, h.cursor),
      IFNULL((SELECT MIN(x.sequence) FROM rheo_exceptions x WHERE x.group_id = h.group_id AND x.partition = h.partition) - 1, h.cursor)
    )) AS frontier
  FROM rheo_heads h
  JOIN rheo_groups g USING (group_id)
  JOIN rheo_streams s USING (stream_id)
  JOIN rheo_partitions p ON p.stream_id = g.stream_id AND p.partition = h.partition
)
WHERE substr(stream, 1, 1) <> '_';
`;
