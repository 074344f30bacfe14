/**
 * Version 1: tables, indexes, types and views. `@.` stands for the schema.
 *
 * Two habits keep every look-up short even while an idle transaction elsewhere stops dead rows from being removed: rows that change often
 * are not updated but replaced by a row with a higher key (`cursors`), and are read from the top of their index; and locks are taken
 * on rows that hardly ever change (`partitions`, `progress`), which leaves no dead rows at all.
 */
export const INITIAL = `
CREATE TABLE @.streams (
  stream_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,  -- found by name with every call
  partitions integer NOT NULL,
  created_at timestamptz NOT NULL
);

-- Locked by each transaction that appends until it has committed, so commit order is sequence order (L1). The high watermark is
-- the last event's sequence, or first_sequence - 1 when there is none.
CREATE TABLE @.partitions (
  stream_id integer NOT NULL,
  partition integer NOT NULL,
  first_sequence bigint NOT NULL DEFAULT 1,
  largest_bytes integer NOT NULL DEFAULT 0,  -- greatest size ever appended: tells when a byte limit cannot matter
  PRIMARY KEY (stream_id, partition)
) WITH (fillfactor = 50);

-- Never updated. Columns are ordered so that none is padded.
CREATE TABLE @.events (
  stream_id integer NOT NULL,
  partition integer NOT NULL,
  sequence bigint NOT NULL,
  timestamp timestamptz NOT NULL,
  latest timestamptz NOT NULL,  -- greatest timestamp of the partition up to here: rises, so a time is found by bisection
  bytes integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  type text COLLATE "C",
  key text COLLATE "C",
  metadata jsonb NOT NULL,
  payload jsonb NOT NULL,
  CONSTRAINT events_in_order PRIMARY KEY (stream_id, partition, sequence)  -- reading in order; the high watermark
);
-- An id is there once in a stream (L4); also finds an event by id.
CREATE UNIQUE INDEX events_by_id ON @.events (stream_id, id);
-- Rows are only added, until a trim: what the visibility map needs is that autovacuum comes by.
ALTER TABLE @.events SET (autovacuum_vacuum_insert_scale_factor = 0.1);

-- Ids are never used again, so what a process remembers of a group cannot fit a later one of that name.
CREATE TABLE @.groups (
  group_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream_id integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  options text NOT NULL,          -- JSON, as given; text, because a filter may name what jsonb cannot hold (U+0000)
  max_attempts integer NOT NULL,  -- from here to filter: copies out of options, for the functions
  lease_ms bigint NOT NULL,
  ordering text NOT NULL CHECK (ordering IN ('none', 'key', 'partition')),
  max_inflight bigint,
  filter jsonb,                   -- as filter_sql() takes it; null: everything passes
  paused boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL,
  UNIQUE (stream_id, name)        -- found by name with every call
);

-- One row per group and partition. Its lock is held by whoever changes the deliveries of the partition.
CREATE TABLE @.progress (
  group_id integer NOT NULL,
  partition integer NOT NULL,
  reset_token bigint NOT NULL,  -- tokens up to it were made stale by a reset
  start bigint NOT NULL,  -- where the group began, or began anew: what is at or below was never offered to it
  skipped bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (group_id, partition)
) WITH (fillfactor = 50);

-- One row per group and partition, replaced by one with the next token by each claim.
CREATE TABLE @.cursors (
  group_id integer NOT NULL,
  partition integer NOT NULL,
  token bigint NOT NULL,    -- the last one given
  cursor bigint NOT NULL,
  floor bigint NOT NULL,    -- no lease has a token below: where a look at the leases begins
  PRIMARY KEY (group_id, partition, token)  -- the highest token first
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);

-- One row per fetched batch, gone when the batch is settled. What is still open of it is open_set, or all from first to last.
-- The primary key never changes, so that FOR KEY SHARE lets the batch be settled in part and yet keeps the row from being taken over.
CREATE TABLE @.leases (
  group_id integer NOT NULL,
  partition integer NOT NULL,
  token bigint NOT NULL,
  first_sequence bigint NOT NULL,
  last_sequence bigint NOT NULL,
  open_count integer NOT NULL,
  attempt integer NOT NULL,
  takeovers integer NOT NULL,
  alone smallint NOT NULL,
  leased_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  first_failed_at timestamptz,
  consumer_id text COLLATE "C" NOT NULL,
  open_set int8multirange,
  PRIMARY KEY (group_id, partition, token, first_sequence)  -- settling by token; what is in flight, from the floor up
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);

-- Deliveries settled inside transactions of the caller's, or beside one: closed in their lease once somebody holds the partition.
CREATE TABLE @.settlements (
  group_id integer NOT NULL,
  partition integer NOT NULL,
  token bigint NOT NULL,
  sequence bigint NOT NULL,
  PRIMARY KEY (group_id, partition, token, sequence)  -- a second settle of the same lease waits for the first, and is refused
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- One row per delivery that left the happy path.
CREATE TABLE @.exceptions (
  group_id integer NOT NULL,
  partition integer NOT NULL,
  sequence bigint NOT NULL,
  token bigint NOT NULL,
  attempt integer NOT NULL,
  takeovers integer NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'retrying', 'leased', 'parked')),
  alone smallint NOT NULL,
  leased_at timestamptz NOT NULL,
  due_at timestamptz,         -- when it can be claimed; null when parked
  first_failed_at timestamptz,
  failed_at timestamptz,
  consumer_id text COLLATE "C",
  key text COLLATE "C",       -- the event's, where the group keeps order
  reason text,
  stack text,
  PRIMARY KEY (group_id, partition, sequence)  -- settling; the lowest one holds the frontier
) WITH (fillfactor = 80);
-- The longest due first, and whether any is.
CREATE INDEX exceptions_by_due ON @.exceptions (group_id, partition, due_at, sequence) WHERE due_at IS NOT NULL;
-- What is in flight, without a walk over what only waits.
CREATE INDEX exceptions_leased ON @.exceptions (group_id, partition) WHERE state = 'leased';
-- How many are parked behind busy keys (G8), and nothing for groups without an order.
CREATE INDEX exceptions_parked ON @.exceptions (group_id, partition) WHERE state = 'parked';

CREATE TABLE @.dead_letters (
  group_id integer NOT NULL,
  partition integer NOT NULL,
  sequence bigint NOT NULL,
  attempts integer NOT NULL,
  first_failed_at timestamptz NOT NULL,
  dead_at timestamptz NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  consumer_id text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  stack text,
  PRIMARY KEY (group_id, partition, sequence)  -- paging
);
-- Redriving by id, and where a page goes on when the event itself was trimmed.
CREATE INDEX dead_letters_by_event ON @.dead_letters (group_id, event_id);

-- Why positions were taken from a lease, so that a late settle learns it. The latest 256 per group and partition.
CREATE TABLE @.revocations (
  revocation_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- one of several with the same token is dropped by it
  group_id integer NOT NULL,
  partition integer NOT NULL,
  token bigint NOT NULL,
  sequences int8multirange NOT NULL,
  why text COLLATE "C" NOT NULL CHECK (why IN ('reclaimed', 'reset'))
);
-- Looked up by token; the lowest are dropped first.
CREATE INDEX revocations_by_token ON @.revocations (group_id, partition, token);

CREATE TABLE @.members (
  group_id integer NOT NULL,
  consumer_id text COLLATE "C" NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (group_id, consumer_id)
) WITH (fillfactor = 50);

-- What one call of a function works with.
CREATE TYPE @.event_row AS (sequence bigint, id text, timestamp_ms bigint, type text, key text, metadata text, payload text);
CREATE TYPE @.place AS (partition integer, old_token bigint, token bigint, old_cursor bigint, cursor bigint, old_floor bigint);
CREATE TYPE @.granted AS (partition integer, token bigint, attempt integer, count integer, sequences int8multirange);
CREATE TYPE @.pass AS (
  group_id integer, stream_id integer, ordering text, filter text, max_attempts integer, consumer_id text,
  now timestamptz, lease interval, expires_at timestamptz,
  room integer, bytes_left bigint, scan_left integer, counts_bytes boolean, granted integer, suspects integer, more boolean, closed boolean,
  held integer, held_searching boolean, turn integer, streak integer,
  places @.place[], grants @.granted[], died jsonb, ended text[], skipped integer, run_limit integer
);
CREATE TYPE @.free AS (firsts int8multirange, sequences bigint[], lanes text[], positions integer[]);

-- Leases with what is open of them now.
CREATE VIEW @.open_leases AS
SELECT l.group_id, l.partition, l.token, l.attempt, l.takeovers, l.alone, l.consumer_id, l.leased_at, l.expires_at, l.first_failed_at,
  coalesce(l.open_set, int8multirange(int8range(l.first_sequence, l.last_sequence + 1)))
  - coalesce((SELECT range_agg(int8range(m.sequence, m.sequence + 1)) FROM @.settlements m
      WHERE m.group_id = l.group_id AND m.partition = l.partition AND m.token = l.token), '{}'::int8multirange) AS open_set
FROM @.leases l;

-- The frontier, derived: one below the least open position of any lease and the least exception, or the cursor if there is neither.
CREATE VIEW @.frontiers AS
SELECT p.group_id, g.stream_id, p.partition, h.cursor, h.token, p.reset_token, p.skipped, w.first_sequence, w.high_watermark,
  greatest(w.first_sequence - 1, least(
    h.cursor,
    (SELECT min(lower(l.open_set)) FROM @.open_leases l WHERE l.group_id = p.group_id AND l.partition = p.partition AND l.token >= h.floor) - 1,
    (SELECT x.sequence FROM @.exceptions x WHERE x.group_id = p.group_id AND x.partition = p.partition ORDER BY x.sequence LIMIT 1) - 1
  )) AS frontier
FROM @.progress p
JOIN @.groups g USING (group_id)
CROSS JOIN LATERAL (
  SELECT c.cursor, c.token, c.floor FROM @.cursors c WHERE c.group_id = p.group_id AND c.partition = p.partition ORDER BY c.token DESC LIMIT 1
) h
CROSS JOIN LATERAL (
  SELECT q.first_sequence, greatest(q.first_sequence - 1, coalesce((
    SELECT e.sequence FROM @.events e WHERE e.stream_id = q.stream_id AND e.partition = q.partition ORDER BY e.sequence DESC LIMIT 1
  ), 0)) AS high_watermark
  FROM @.partitions q WHERE q.stream_id = g.stream_id AND q.partition = p.partition
) w;

-- For people and other programs: read only, and the columns stay when the tables change. Streams whose names begin with _ are Rheo's own.
CREATE VIEW @.events_view AS
SELECT s.name AS stream, e.partition, e.sequence, e.id, e.timestamp, e.type, e.key, e.metadata, e.payload
FROM @.events e JOIN @.streams s USING (stream_id) WHERE left(s.name, 1) <> '_';

CREATE VIEW @.lag_view AS
SELECT s.name AS stream, g.name AS group_name, f.partition, f.frontier, f.high_watermark, f.high_watermark - f.frontier AS lag, f.skipped
FROM @.frontiers f JOIN @.groups g USING (group_id) JOIN @.streams s ON s.stream_id = f.stream_id WHERE left(s.name, 1) <> '_';
`;
