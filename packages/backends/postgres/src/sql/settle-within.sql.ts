/** Settling inside transactions of users (T8). */

/**
 * Settles inside a transaction of the user's (T8). Neither the partition nor the lease is held against others: rows in settlements say
 * what is closed, under FOR KEY SHARE of the lease, so that it can be settled in part by others but not taken over until this
 * transaction is over. A second look after writing them, because what had been settled before may have been folded in between.
 */
export const SETTLE_WITHIN = `
CREATE FUNCTION @.settle_within(p_stream text, p_group text, p_settlements jsonb, p_now_ms bigint) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  g record;
  v_now timestamptz := @.moment(p_now_ms);
  v_answers jsonb[] := '{}';
  v_item jsonb;
  v_partition integer;
  v_token bigint;
  v_left int8multirange;
  v_taken int8multirange;
  v_runs jsonb;
  l @.leases;
  v_lease @.leases;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  FOR v_item IN SELECT value FROM jsonb_array_elements(p_settlements) LOOP
    v_partition := (v_item->>'p')::integer;
    v_token := (v_item->>'t')::bigint;
    v_left := (v_item->>'s')::int8multirange;
    v_runs := '[]';
    FOR l IN SELECT * FROM @.leases WHERE group_id = g.group_id AND partition = v_partition AND token = v_token ORDER BY first_sequence LOOP
      CONTINUE WHEN NOT @.open_of(l) && v_left;
      SELECT * INTO v_lease FROM @.leases
      WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence FOR KEY SHARE;
      CONTINUE WHEN NOT FOUND;
      WITH mine AS (
        INSERT INTO @.settlements (group_id, partition, token, sequence)
        SELECT l.group_id, l.partition, l.token, s FROM @.sequences(@.open_of(v_lease) * v_left) s ON CONFLICT DO NOTHING RETURNING sequence
      ) SELECT coalesce(range_agg(int8range(sequence, sequence + 1)), '{}') INTO v_taken FROM mine;
      SELECT * INTO v_lease FROM @.leases
      WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence FOR KEY SHARE;
      IF NOT v_taken <@ @.open_of(v_lease) THEN
        DELETE FROM @.settlements WHERE group_id = l.group_id AND partition = l.partition AND token = l.token
          AND sequence IN (SELECT @.sequences(v_taken - @.open_of(v_lease)));
        v_taken := v_taken * @.open_of(v_lease);
      END IF;
      CONTINUE WHEN isempty(v_taken);
      v_left := v_left - v_taken;
      v_runs := v_runs || @.runs_of(@.leave_range(v_lease, g.stream_id, g.ordering, g.max_attempts, v_taken, v_item, v_now), v_taken);
    END LOOP;
    IF NOT isempty(v_left) THEN
      v_runs := v_runs || @.settle_rest(g.group_id, g.stream_id, g.max_attempts, v_partition, v_token, v_left, v_item, v_now);
    END IF;
    v_answers := v_answers || v_runs;
  END LOOP;
  RETURN jsonb_build_object('settled', to_jsonb(v_answers), 'stream', g.stream_id, 'transaction', pg_current_xact_id_if_assigned()::text)::text;
END $$;`;
