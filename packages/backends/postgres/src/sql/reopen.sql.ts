/** Where groups begin, reset and redrive: the twins of `startCursor`, `reset` and `redrive` in core's progress (G1, T1, T7). */

/** The cursor of a group that starts, or starts again, in a partition. A start is `{ kind, after?, timeMs? }`. */
export const START_CURSOR = `
CREATE FUNCTION @.start_cursor(p_stream_id integer, p_partition integer, p_start jsonb) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_first bigint;
  v_high bigint := @.high_watermark(p_stream_id, p_partition);
BEGIN
  SELECT first_sequence INTO v_first FROM @.partitions WHERE stream_id = p_stream_id AND partition = p_partition;
  RETURN CASE p_start->>'kind'
    WHEN 'earliest' THEN v_first - 1
    WHEN 'latest' THEN v_high
    WHEN 'after' THEN least(v_high, greatest(v_first - 1, coalesce((p_start->'after'->>p_partition)::bigint, 0)))
    WHEN 'time' THEN greatest(v_first, @.sequence_at(p_stream_id, p_partition, 'epoch'::timestamptz + (p_start->>'timeMs')::bigint * interval '1 millisecond')) - 1
  END;
END $$;`;

/** Starts the group anew. One token is spent, so that every token given before is at or below the floor (F1). */
export const RESET = `
CREATE FUNCTION @.reset(p_stream text, p_group text, p_start jsonb) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
  q record;
  h @.cursors;
  v_cursor bigint;
  v_first bigint;
  v_filter text;
  v_count bigint := 0;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  PERFORM @.hold_all(g.group_id, NULL);
  v_filter := @.filter_sql(g.filter);
  DELETE FROM @.leases WHERE group_id = g.group_id;
  DELETE FROM @.exceptions WHERE group_id = g.group_id;
  DELETE FROM @.settlements WHERE group_id = g.group_id;
  DELETE FROM @.dead_letters WHERE group_id = g.group_id;
  DELETE FROM @.revocations WHERE group_id = g.group_id;
  FOR q IN SELECT p.partition FROM @.progress p WHERE p.group_id = g.group_id ORDER BY p.partition LOOP
    SELECT * INTO h FROM @.head_of(g.group_id, q.partition);
    v_cursor := @.start_cursor(g.stream_id, q.partition, p_start);
    SELECT first_sequence INTO v_first FROM @.partitions WHERE stream_id = g.stream_id AND partition = q.partition;
    PERFORM @.put_cursor(g.group_id, ROW(q.partition, h.token, h.token + 1, h.cursor, v_cursor, h.token + 1)::@.place);
    UPDATE @.progress SET reset_token = h.token + 1, start = v_cursor, skipped = 0 WHERE group_id = g.group_id AND partition = q.partition;
    IF v_cursor < h.cursor THEN
      v_count := v_count + @.count_offered(g.stream_id, q.partition, v_filter, greatest(v_cursor, v_first - 1), h.cursor);
    END IF;
  END LOOP;
  RETURN jsonb_build_object('count', v_count, 'stream', g.stream_id);
END $$;`;

/** A selection is `{ ids }`, `{ program }` or `{}`. Dead letters whose event was trimmed can only be purged. */
export const REDRIVE = `
CREATE FUNCTION @.redrive(p_stream text, p_group text, p_select jsonb, p_purge boolean) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
  v_count bigint := 0;
  v_partition integer;
  v_sequences int8multirange;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  PERFORM @.hold(g.group_id, NULL);
  FOR v_partition, v_sequences IN EXECUTE format('
    WITH gone AS (
      DELETE FROM @.dead_letters d USING (
        SELECT l.partition, l.sequence FROM @.dead_letters l
        LEFT JOIN @.events e ON e.stream_id = $2 AND e.partition = l.partition AND e.sequence = l.sequence
        WHERE l.group_id = $1 AND ($3 IS NULL OR l.event_id = ANY ($3)) AND ($4 OR e.id IS NOT NULL) AND (%s)
      ) w WHERE d.group_id = $1 AND d.partition = w.partition AND d.sequence = w.sequence RETURNING d.partition, d.sequence
    ) SELECT partition, range_agg(int8range(sequence, sequence + 1)) FROM gone GROUP BY partition ORDER BY partition',
    CASE WHEN p_select ? 'program' THEN 'e.id IS NOT NULL AND ' || @.filter_sql(p_select->'program') ELSE 'true' END)
    USING g.group_id, g.stream_id, CASE WHEN p_select ? 'ids' THEN ARRAY(SELECT jsonb_array_elements_text(p_select->'ids')) END, p_purge
  LOOP
    v_count := v_count + @.size_of(v_sequences);
    IF NOT p_purge THEN PERFORM @.reopen(g.group_id, g.stream_id, g.ordering, v_partition, v_sequences); END IF;
  END LOOP;
  RETURN jsonb_build_object('count', v_count, 'stream', g.stream_id);
END $$;`;
