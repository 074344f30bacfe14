/** Events above the cursor: the twin of `take-new` in core's progress (G7, G9). */

/** Leases new events as one batch. Cost: one row. */
export const LEASE_NEW = `
CREATE FUNCTION @.lease_new(p @.pass, p_place integer, p_sequences int8multirange, p_bytes bigint) RETURNS @.pass LANGUAGE plpgsql AS $$
BEGIN
  p := @.token_in(p, p_place);
  INSERT INTO @.leases (group_id, partition, token, first_sequence, last_sequence, open_count, attempt, takeovers, alone, leased_at, expires_at,
    consumer_id, open_set)
  VALUES (p.group_id, p.places[p_place].partition, p.places[p_place].token, lower(p_sequences), upper(p_sequences) - 1, @.size_of(p_sequences), 1, 0, 0,
    p.now, p.expires_at, p.consumer_id, CASE WHEN p_sequences <> int8multirange(range_merge(p_sequences)) THEN p_sequences END);
  RETURN @.grant_in(p, p_place, 1, p_sequences, p_bytes);
END $$;`;

/** Whether the group has so many exceptions in a partition that it is given no new events. Counted only where their span allows it. */
export const IS_CROWDED = `
CREATE FUNCTION @.is_crowded(p_group_id integer, p_partition integer) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_lowest bigint;
  v_highest bigint;
BEGIN
  SELECT sequence INTO v_lowest FROM @.exceptions WHERE group_id = p_group_id AND partition = p_partition ORDER BY sequence LIMIT 1;
  IF v_lowest IS NULL THEN RETURN false; END IF;
  SELECT sequence INTO v_highest FROM @.exceptions WHERE group_id = p_group_id AND partition = p_partition ORDER BY sequence DESC LIMIT 1;
  IF v_highest - v_lowest + 1 < 100000 THEN RETURN false; END IF;
  RETURN (SELECT count(*) >= 100000 FROM (SELECT FROM @.exceptions WHERE group_id = p_group_id AND partition = p_partition LIMIT 100000) c);
END $$;`;

/**
 * Events above the cursor, past what the filter drops (G7) and what must wait behind its key (G9). Cost: with neither, the range is
 * known without looking at an event; else the events examined, of which there are at most 10,000.
 */
export const TAKE_NEW = `
CREATE FUNCTION @.take_new(p @.pass, p_place integer) RETURNS @.pass LANGUAGE plpgsql AS $$
DECLARE
  v_partition integer := p.places[p_place].partition;
  v_cursor bigint := p.places[p_place].cursor;
  v_high bigint;
  v_last bigint;
  v_end bigint;
  v_from bigint;
  v_seen integer;
  v_full boolean;
  v_bytes bigint;
  v_most integer;
  v_page integer;
  v_leased bigint[];
  v_parked bigint[];
  v_parked_count integer := 0;
  v_ran boolean := false;
  e record;
BEGIN
  IF p.ordering = 'partition' AND (
    EXISTS (SELECT FROM @.leases WHERE group_id = p.group_id AND partition = v_partition AND token >= p.places[p_place].old_floor)
    OR EXISTS (SELECT FROM @.exceptions WHERE group_id = p.group_id AND partition = v_partition)
    OR cardinality(p.ended) > 0
  ) THEN RETURN p; END IF;
  IF @.is_crowded(p.group_id, v_partition) THEN RETURN p; END IF;
  v_high := @.high_watermark(p.stream_id, v_partition);
  v_most := CASE p.ordering WHEN 'partition' THEN least(p.run_limit, p.room) ELSE p.room END;
  IF p.filter IS NULL AND p.ordering <> 'key' THEN
    v_last := least(v_cursor + v_most, v_high);
    v_bytes := 0;
    IF p.counts_bytes THEN
      v_end := v_last;
      SELECT max(a.sequence), sum(a.bytes) INTO v_last, v_bytes FROM (
        SELECT b.sequence, b.bytes, sum(b.bytes) OVER (ORDER BY b.sequence) AS upto, row_number() OVER (ORDER BY b.sequence) AS n
        FROM @.events b WHERE b.stream_id = p.stream_id AND b.partition = v_partition AND b.sequence > v_cursor AND b.sequence <= v_end
      ) a WHERE a.upto <= p.bytes_left OR (a.n = 1 AND p.granted = 0);
      IF v_last IS NULL AND NOT EXISTS (SELECT FROM @.events b
        WHERE b.stream_id = p.stream_id AND b.partition = v_partition AND b.sequence > v_cursor AND b.sequence <= v_end) THEN
        v_last := v_end; -- none of them is there, which is told when they are read
        v_bytes := 0;
      END IF;
    END IF;
    IF v_last > v_cursor THEN
      p.places[p_place].cursor := v_last;
      p := @.lease_new(p, p_place, int8multirange(int8range(v_cursor + 1, v_last + 1)), v_bytes);
    END IF;
    RETURN p;
  END IF;
  IF p.ordering = 'key' THEN
    SELECT count(*) INTO v_parked_count FROM @.exceptions WHERE group_id = p.group_id AND partition = v_partition AND state = 'parked';
  END IF;
  WHILE @.is_open(p) AND p.scan_left > 0 LOOP
    v_page := least(p.scan_left, greatest(p.room, 500), v_high - v_cursor);
    -- a run ends with the page: what is leased then keeps the rest of its lane waiting
    v_most := CASE WHEN p.ordering = 'partition' THEN CASE WHEN v_ran THEN 0 ELSE least(p.run_limit, p.room) END ELSE p.room END;
    p.scan_left := p.scan_left - v_page;
    v_last := v_cursor + v_page;
    v_leased := '{}';
    v_parked := '{}';
    v_bytes := 0;
    v_from := v_cursor;
    v_seen := 0;
    v_full := false;
    -- the first events of a key that is not busy are free, as many as a run may have; the others of it wait behind them
    FOR e IN EXECUTE format($page$
      WITH busy AS MATERIALIZED (
        SELECT u.key FROM @.leases l CROSS JOIN LATERAL @.sequences(@.open_of(l)) s
        CROSS JOIN LATERAL @.event_at($1, $2, s) u
        WHERE $5 AND l.group_id = $6 AND l.partition = $2 AND l.token >= $7
        UNION SELECT x.key FROM @.exceptions x WHERE $5 AND x.group_id = $6 AND x.partition = $2
        UNION SELECT unnest($8)
      )
      SELECT f.sequence, f.bytes, f.passes, f.key IS NULL OR NOT $5 OR (
        f.place <= $9
        AND NOT EXISTS (SELECT FROM busy b WHERE b.key = f.key)
      ) AS free
      FROM (
        SELECT a.*, row_number() OVER (PARTITION BY a.passes, a.key ORDER BY a.sequence) AS place
        FROM (SELECT e.sequence, e.bytes, e.key, (%s) AS passes FROM @.events e
          WHERE e.stream_id = $1 AND e.partition = $2 AND e.sequence > $3 AND e.sequence <= $4) a
      ) f ORDER BY f.sequence $page$, coalesce(p.filter, 'true'))
      USING p.stream_id, v_partition, v_cursor, v_last, p.ordering = 'key', p.group_id, p.places[p_place].old_floor, p.ended, p.run_limit
    LOOP
      IF e.passes THEN
        IF e.free THEN
          v_full := cardinality(v_leased) >= v_most OR (v_bytes + e.bytes > p.bytes_left AND cardinality(v_leased) + p.granted > 0);
          EXIT WHEN v_full;
          v_leased := v_leased || e.sequence;
          v_bytes := v_bytes + e.bytes;
        ELSE
          v_full := v_parked_count >= 1000;
          EXIT WHEN v_full;
          v_parked := v_parked || e.sequence;
          v_parked_count := v_parked_count + 1;
        END IF;
      END IF;
      v_cursor := e.sequence;
      v_seen := v_seen + 1;
    END LOOP;
    IF NOT v_full THEN v_cursor := v_last; END IF;
    IF v_cursor - v_from > v_seen THEN -- sequences have no gaps (L1), but below what was trimmed
      SELECT greatest(v_from, q.first_sequence - 1) INTO v_from FROM @.partitions q WHERE q.stream_id = p.stream_id AND q.partition = v_partition;
      IF v_cursor - v_from > v_seen THEN PERFORM @.skip(p.group_id, v_partition, v_cursor - v_from - v_seen); END IF;
    END IF;
    IF cardinality(v_parked) > 0 THEN
      INSERT INTO @.exceptions (group_id, partition, sequence, token, attempt, takeovers, state, alone, leased_at, key)
      SELECT p.group_id, v_partition, b.sequence, 0, 0, 0, 'parked', 0, 'epoch', b.key FROM @.events b
      WHERE b.stream_id = p.stream_id AND b.partition = v_partition AND b.sequence = ANY (v_parked);
    END IF;
    p.places[p_place].cursor := v_cursor;
    IF cardinality(v_leased) > 0 THEN
      p := @.lease_new(p, p_place, @.ranges_of(v_leased), v_bytes);
      v_ran := true;
    END IF;
    IF v_page = 0 OR v_cursor <> v_last THEN RETURN p; END IF;
  END LOOP;
  IF p.scan_left <= 0 THEN p.more := true; END IF;
  RETURN p;
END $$;`;
