/** Queries that filter where the events are. */

/** The answer without the events, in the shape of a row of events. */
export const HEADER = `
CREATE FUNCTION @.header(p_answer jsonb) RETURNS @.event_row LANGUAGE sql IMMUTABLE AS $$
  SELECT ROW(NULL, NULL, NULL, NULL, NULL, NULL, p_answer::text)::@.event_row
$$;`;

/**
 * Matching events of (p_after, p_until] of one partition, in order, and at the end a row with `{ passed, ended }` in its payload. At most
 * `p_examine` sequences are looked at, so that one call stays short however rare the matches are. The stream is written into the
 * statement, so that the indexes of one stream apply. Cost: one range of the primary key, or of an index of the stream by content.
 */
export const SEARCH = `
CREATE FUNCTION @.search(
  p_stream text, p_partition integer, p_after bigint, p_until bigint, p_descending boolean, p_limit integer, p_max_bytes bigint, p_program jsonb,
  p_from_ms bigint, p_to_ms bigint, p_examine bigint
) RETURNS SETOF @.event_row LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_stream_id integer;
  v_from timestamptz := 'epoch'::timestamptz + p_from_ms * interval '1 millisecond';
  v_to timestamptz := 'epoch'::timestamptz + p_to_ms * interval '1 millisecond';
  v_low bigint;
  v_high bigint;
  v_lowest bigint;
  v_highest bigint;
  v_count integer := 0;
  v_bytes bigint := 0;
  v_passed bigint;
  v_cut boolean := false;
  r record;
BEGIN
  SELECT s.stream_id, q.first_sequence - 1 INTO v_stream_id, v_lowest FROM @.streams s JOIN @.partitions q USING (stream_id)
  WHERE s.name = p_stream AND q.partition = p_partition;
  IF NOT FOUND THEN
    RETURN QUERY SELECT * FROM @.header(jsonb_build_object('missing', 'stream'));
    RETURN;
  END IF;
  v_lowest := greatest(v_lowest, p_after);
  IF v_from IS NOT NULL THEN v_lowest := greatest(v_lowest, @.sequence_at(v_stream_id, p_partition, v_from) - 1); END IF;
  v_highest := least(@.high_watermark(v_stream_id, p_partition), p_until);
  v_low := CASE WHEN p_descending THEN greatest(v_lowest, v_highest - p_examine) ELSE v_lowest END;
  v_high := CASE WHEN p_descending THEN v_highest ELSE least(v_highest, v_lowest + p_examine) END;
  FOR r IN EXECUTE format('SELECT e.sequence, e.id, @.ms(e.timestamp) AS timestamp_ms, e.type, e.key, e.metadata::text, e.payload::text, e.bytes FROM @.events e
    WHERE e.stream_id = %s AND e.partition = $1 AND e.sequence > $2 AND e.sequence <= $3 AND ($4 IS NULL OR e.timestamp >= $4) AND ($5 IS NULL OR e.timestamp < $5)
      AND %s ORDER BY e.sequence %s LIMIT $6',
    v_stream_id, coalesce(@.filter_sql(p_program, false), 'true'), CASE WHEN p_descending THEN 'DESC' ELSE 'ASC' END)
    USING p_partition, v_low, v_high, v_from, v_to, p_limit
  LOOP
    v_bytes := v_bytes + r.bytes;
    v_cut := v_count > 0 AND v_bytes > p_max_bytes;
    EXIT WHEN v_cut;
    RETURN QUERY SELECT r.sequence, r.id, r.timestamp_ms, r.type, r.key, r.metadata, r.payload;
    v_count := v_count + 1;
    v_passed := r.sequence;
    v_cut := v_count = p_limit;
  END LOOP;
  IF NOT v_cut AND v_high > v_low THEN v_passed := CASE WHEN p_descending THEN v_low + 1 ELSE v_high END; END IF;
  RETURN QUERY SELECT * FROM @.header(jsonb_build_object('passed', v_passed,
    'ended', NOT v_cut AND CASE WHEN p_descending THEN v_low <= v_lowest ELSE v_high >= v_highest END));
END $$;`;

/**
 * What an index has to hold so that `filter_sql()` can use it for a path; null where it would call a function of ours, which must be free to
 * change.
 */
export const INDEX_EXPRESSION = `
CREATE FUNCTION @.index_expression(p_root text, p_path jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_root IN ('id', 'type', 'key') THEN p_root
    WHEN @.filter_value(p_root, p_path) LIKE '(e.%' THEN '(' || substr(@.filter_value(p_root, p_path), 4) END
$$;`;

/** Notes which path an index is for. */
export const NAME_PATH = `
CREATE FUNCTION @.name_path(p_index text, p_path text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COMMENT ON INDEX @.%I IS %L', p_index, p_path);
END $$;`;
