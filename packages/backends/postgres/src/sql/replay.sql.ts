/** Replay: the twin of `replay` in core's progress (T7). */

/** Deliveries in (after, until] that the group's filter lets through. Cost: without a filter none, else the events. */
export const COUNT_OFFERED = `
CREATE FUNCTION @.count_offered(p_stream_id integer, p_partition integer, p_filter text, p_after bigint, p_until bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_count bigint;
BEGIN
  IF p_filter IS NULL THEN RETURN p_until - p_after; END IF;
  EXECUTE format('SELECT count(*) FROM @.events e WHERE e.stream_id = $1 AND e.partition = $2 AND e.sequence > $3 AND e.sequence <= $4 AND %s', p_filter)
    INTO v_count USING p_stream_id, p_partition, p_after, p_until;
  RETURN v_count;
END $$;`;

/** Takes positions from every lease of a partition, and remembers why. */
export const TAKE_BACK = `
CREATE FUNCTION @.take_back(p_group_id integer, p_partition integer, p_wanted int8multirange) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  l @.leases;
  v_taken int8multirange;
  x record;
BEGIN
  FOR l IN SELECT * FROM @.leases WHERE group_id = p_group_id AND partition = p_partition AND @.open_of(leases) && p_wanted ORDER BY token, first_sequence LOOP
    v_taken := @.open_of(l) * p_wanted;
    PERFORM @.keep_open(l, @.open_of(l) - v_taken);
    PERFORM @.revoke(p_group_id, p_partition, l.token, v_taken, 'reset');
  END LOOP;
  FOR x IN
    SELECT token, range_agg(int8range(sequence, sequence + 1)) AS sequences FROM @.exceptions
    WHERE group_id = p_group_id AND partition = p_partition AND state = 'leased' AND sequence <@ p_wanted GROUP BY token ORDER BY token
  LOOP
    PERFORM @.revoke(p_group_id, p_partition, x.token, x.sequences, 'reset');
  END LOOP;
END $$;`;

/** One below the first retained sequence that was ever offered to the group: it began there or later. */
export const OFFERED_AFTER = `
CREATE FUNCTION @.offered_after(p_group_id integer, p_stream_id integer, p_partition integer) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT greatest(q.first_sequence - 1, p.start) FROM @.partitions q, @.progress p
  WHERE q.stream_id = p_stream_id AND q.partition = p_partition AND p.group_id = p_group_id AND p.partition = p_partition
$$;`;

/** Moves the cursor back: few writes however many deliveries that re-opens. With `p_dry` it only counts them. */
export const REWIND = `
CREATE FUNCTION @.rewind(p_group_id integer, p_stream_id integer, p_partition integer, p_filter text, p_after bigint, p_dry boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  h @.cursors;
  v_after bigint := greatest(p_after, @.offered_after(p_group_id, p_stream_id, p_partition));
BEGIN
  SELECT * INTO h FROM @.head_of(p_group_id, p_partition);
  IF v_after >= h.cursor THEN RETURN 0; END IF;
  IF NOT p_dry THEN
    PERFORM @.take_back(p_group_id, p_partition, int8multirange(int8range(v_after + 1, NULL)));
    DELETE FROM @.exceptions WHERE group_id = p_group_id AND partition = p_partition AND sequence > v_after;
    DELETE FROM @.dead_letters WHERE group_id = p_group_id AND partition = p_partition AND sequence > v_after;
    UPDATE @.cursors SET cursor = v_after WHERE group_id = p_group_id AND partition = p_partition AND token = h.token;
  END IF;
  RETURN @.count_offered(p_stream_id, p_partition, p_filter, v_after, h.cursor);
END $$;`;

/** A scope is `{ after }`, `{ timeMs }` or `{ program, fromMs, toMs, partitions, afters, untils }`. How many deliveries are open again. */
export const REPLAY = `
CREATE FUNCTION @.replay(p_stream text, p_group text, p_scope jsonb, p_partitions integer[], p_dry boolean) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
  q record;
  h @.cursors;
  v_filter text;
  v_wanted int8multirange;
  v_count bigint := 0;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  IF NOT p_dry THEN PERFORM @.hold_all(g.group_id, p_partitions); END IF;
  v_filter := @.filter_sql(g.filter);
  IF p_scope ? 'after' AND NOT EXISTS (
    SELECT FROM @.progress p WHERE p.group_id = g.group_id AND (p_partitions IS NULL OR p.partition = ANY (p_partitions))
      AND (p_scope->>'after')::bigint <= @.high_watermark(g.stream_id, p.partition)
  ) THEN RETURN jsonb_build_object('nothing', true); END IF;
  FOR q IN SELECT p.partition FROM @.progress p
    WHERE p.group_id = g.group_id AND (p_partitions IS NULL OR p.partition = ANY (p_partitions)) ORDER BY p.partition
  LOOP
    IF p_scope ? 'after' THEN v_count := v_count + @.rewind(g.group_id, g.stream_id, q.partition, v_filter, (p_scope->>'after')::bigint, p_dry);
    ELSIF p_scope ? 'timeMs' THEN
      v_count := v_count + @.rewind(g.group_id, g.stream_id, q.partition, v_filter, @.sequence_at(g.stream_id, q.partition,
        'epoch'::timestamptz + (p_scope->>'timeMs')::bigint * interval '1 millisecond') - 1, p_dry);
    ELSIF p_scope->'partitions' @> to_jsonb(q.partition) THEN
      SELECT * INTO h FROM @.head_of(g.group_id, q.partition);
      EXECUTE format('SELECT coalesce(range_agg(int8range(e.sequence, e.sequence + 1)), ''{}'') FROM @.events e
        WHERE e.stream_id = $1 AND e.partition = $2 AND e.sequence > $3 AND e.sequence <= $4
          AND ($5 IS NULL OR e.timestamp >= ''epoch''::timestamptz + $5 * interval ''1 millisecond'')
          AND ($6 IS NULL OR e.timestamp < ''epoch''::timestamptz + $6 * interval ''1 millisecond'') AND %s AND %s',
        coalesce(@.filter_sql(nullif(p_scope->'program', 'null')), 'true'), coalesce(v_filter, 'true'))
      INTO v_wanted USING g.stream_id, q.partition, greatest((p_scope->'afters'->>q.partition)::bigint, @.offered_after(g.group_id, g.stream_id, q.partition)),
        least((p_scope->'untils'->>q.partition)::bigint, h.cursor),
        (p_scope->>'fromMs')::bigint, (p_scope->>'toMs')::bigint;
      IF NOT p_dry THEN
        PERFORM @.take_back(g.group_id, q.partition, v_wanted);
        DELETE FROM @.dead_letters WHERE group_id = g.group_id AND partition = q.partition AND sequence IN (SELECT @.sequences(v_wanted));
        PERFORM @.reopen(g.group_id, g.stream_id, g.ordering, q.partition, v_wanted);
      END IF;
      v_count := v_count + @.size_of(v_wanted);
    END IF;
  END LOOP;
  RETURN jsonb_build_object('count', v_count, 'stream', CASE WHEN NOT p_dry THEN g.stream_id END);
END $$;`;
