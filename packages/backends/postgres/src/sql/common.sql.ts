/** Small functions that the others are written with. `@.` stands for the schema, here and in every file of this folder. */

/** Milliseconds since the epoch. */
export const MS = `
CREATE FUNCTION @.ms(p_at timestamptz) RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT (date_part('epoch', p_at) * 1000)::bigint $$;`;

/** The instant of a clock that replaces the server's, or the server's, in whole milliseconds either way (F6). */
export const MOMENT = `
CREATE FUNCTION @.moment(p_ms bigint) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN p_ms IS NULL THEN date_trunc('milliseconds', clock_timestamp()) ELSE 'epoch'::timestamptz + p_ms * interval '1 millisecond' END
$$;`;

export const SEQUENCES = `
CREATE FUNCTION @.sequences(p_ranges int8multirange) RETURNS SETOF bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT s FROM unnest(p_ranges) r CROSS JOIN LATERAL generate_series(lower(r), upper(r) - 1) s
$$;`;

export const SIZE_OF = `
CREATE FUNCTION @.size_of(p_ranges int8multirange) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(sum(upper(r) - lower(r)), 0)::bigint FROM unnest(p_ranges) r
$$;`;

export const RANGES_OF = `
CREATE FUNCTION @.ranges_of(p_sequences bigint[]) RETURNS int8multirange LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(range_agg(int8range(s, s + 1)), '{}'::int8multirange) FROM unnest(p_sequences) s
$$;`;

/** What no fetch wrote is refused: walking it might never end. As in `ranges` of core's progress. */
export const REFUSE_LEASE = `
CREATE FUNCTION @.refuse_lease(p_partition integer, p_token bigint, p_open int8multirange) RETURNS int8multirange LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RAISE EXCEPTION 'the lease of token % in partition % is stored as %, which no fetch wrote: the store was written to by something else, or is damaged; remove that row of leases, then replay the group from the last sequence that is known to be handled',
    p_token, p_partition, p_open;
END $$;`;

/** What is open of a lease row. */
export const OPEN_OF = `
CREATE FUNCTION @.open_of(l @.leases) RETURNS int8multirange LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN l.last_sequence - l.first_sequence < 1048576 THEN coalesce(l.open_set, int8multirange(int8range(l.first_sequence, l.last_sequence + 1)))
    ELSE @.refuse_lease(l.partition, l.token, int8multirange(int8range(l.first_sequence, l.last_sequence, '[]'))) END
$$;`;

/**
 * One event by its place, for joins to places that are known: an index look-up for each, whatever the history. The limit keeps the planner
 * from reading all events of the partition instead, whose number it cannot guess.
 */
export const EVENT_AT = `
CREATE FUNCTION @.event_at(p_stream_id integer, p_partition integer, p_sequence bigint) RETURNS SETOF @.events LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM @.events e WHERE e.stream_id = p_stream_id AND e.partition = p_partition AND e.sequence = p_sequence LIMIT 1
$$;`;

/** The last sequence of a partition. Cost: two index look-ups, whatever the history. */
export const HIGH_WATERMARK = `
CREATE FUNCTION @.high_watermark(p_stream_id integer, p_partition integer) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT greatest(q.first_sequence - 1, coalesce((
    SELECT e.sequence FROM @.events e WHERE e.stream_id = p_stream_id AND e.partition = p_partition ORDER BY e.sequence DESC LIMIT 1
  ), 0)) FROM @.partitions q WHERE q.stream_id = p_stream_id AND q.partition = p_partition
$$;`;

/**
 * The first retained sequence with a timestamp at or after an instant; the high watermark + 1 if none. By bisection on the greatest
 * timestamp so far, which rises although timestamps need not. The walk from there ends at once, except where only events that were
 * trimmed since were late enough. Cost: log2(n) index look-ups.
 */
export const SEQUENCE_AT = `
CREATE FUNCTION @.sequence_at(p_stream_id integer, p_partition integer, p_at timestamptz) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_low bigint;
  v_high bigint := @.high_watermark(p_stream_id, p_partition) + 1;
  v_end bigint := v_high;
  v_middle bigint;
BEGIN
  SELECT first_sequence INTO v_low FROM @.partitions WHERE stream_id = p_stream_id AND partition = p_partition;
  WHILE v_low < v_high LOOP
    v_middle := v_low + (v_high - v_low) / 2;
    IF (SELECT latest FROM @.events WHERE stream_id = p_stream_id AND partition = p_partition AND sequence = v_middle) >= p_at THEN v_high := v_middle;
    ELSE v_low := v_middle + 1;
    END IF;
  END LOOP;
  RETURN coalesce((
    SELECT e.sequence FROM @.events e
    WHERE e.stream_id = p_stream_id AND e.partition = p_partition AND e.sequence >= v_low AND e.timestamp >= p_at
    ORDER BY e.sequence LIMIT 1
  ), v_end);
END $$;`;

/** The group of a name and its stream; stream_id null: no such stream, group_id null: no such group. */
export const FIND_GROUP = `
CREATE FUNCTION @.find_group(p_stream text, p_group text) RETURNS TABLE (
  stream_id integer, partitions integer, group_id integer, max_attempts integer, lease_ms bigint, ordering text, max_inflight bigint, filter jsonb, paused boolean
) LANGUAGE sql STABLE AS $$
  SELECT s.stream_id, s.partitions, g.group_id, g.max_attempts, g.lease_ms, g.ordering, g.max_inflight, g.filter, g.paused
  FROM @.streams s LEFT JOIN @.groups g ON g.stream_id = s.stream_id AND g.name = p_group WHERE s.name = p_stream
$$;`;

/** The word for what is missing, or null. */
export const MISSING = `
CREATE FUNCTION @.missing(p_stream_id integer, p_group_id integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_stream_id IS NULL THEN 'stream' WHEN p_group_id IS NULL THEN 'group' END
$$;`;

/** Where one group and partition stands: the row with the highest token. */
export const HEAD_OF = `
CREATE FUNCTION @.head_of(p_group_id integer, p_partition integer) RETURNS SETOF @.cursors LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM @.cursors c WHERE c.group_id = p_group_id AND c.partition = p_partition ORDER BY c.token DESC LIMIT 1
$$;`;
