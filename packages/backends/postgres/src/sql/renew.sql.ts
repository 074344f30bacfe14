/** Renewal: the twin of `renew` in core's progress (F2, F3, F5). */

/**
 * Renews positions of one lease: all of its row where all that is open is asked for, else the row is split, and the part with the row's
 * first sequence keeps it, so that its key never changes. A row that a transaction of a user's is settling in is renewed whole.
 */
export const RENEW_RANGE = `
CREATE FUNCTION @.renew_range(l @.leases, p_mine int8multirange, p_expires_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_rest int8multirange := @.open_of(l) - p_mine;
  v_moved int8multirange;
BEGIN
  IF NOT isempty(v_rest) THEN
    PERFORM FROM @.leases
    WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN v_rest := '{}'; END IF;
  END IF;
  IF isempty(v_rest) THEN
    UPDATE @.leases SET expires_at = p_expires_at
    WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence;
    RETURN;
  END IF;
  v_moved := CASE WHEN p_mine @> l.first_sequence THEN v_rest ELSE p_mine END;
  INSERT INTO @.leases (group_id, partition, token, first_sequence, last_sequence, open_count, attempt, takeovers, alone, leased_at, expires_at,
    first_failed_at, consumer_id, open_set)
  VALUES (l.group_id, l.partition, l.token, lower(v_moved), upper(v_moved) - 1, @.size_of(v_moved), l.attempt, l.takeovers, l.alone, l.leased_at,
    CASE WHEN v_moved = p_mine THEN p_expires_at ELSE l.expires_at END, l.first_failed_at, l.consumer_id, v_moved);
  UPDATE @.leases SET open_set = @.open_of(l) - v_moved, open_count = @.size_of(@.open_of(l) - v_moved),
    expires_at = CASE WHEN v_moved = p_mine THEN l.expires_at ELSE p_expires_at END
  WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence;
END $$;`;

/**
 * Items are `{ p, t, s }` as in settlements; answers are runs of k(ept) or of a code why not. What had a later expiry keeps it, and is
 * listed as `[item, first, last + 1, expiry]`. Cost: one row per range or single lease.
 */
export const RENEW = `
CREATE FUNCTION @.renew(p_stream text, p_group text, p_items jsonb, p_consumer_id text, p_lease_ms bigint, p_now_ms bigint) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  g record;
  v_now timestamptz;
  v_expires_at timestamptz;
  v_answers jsonb[] := '{}';
  v_item jsonb;
  v_partition integer;
  v_token bigint;
  v_left int8multirange;
  v_mine int8multirange;
  v_runs jsonb;
  v_code text;
  v_renewed boolean := false;
  v_kept jsonb := '[]';
  v_revived text[] := '{}';
  v_index integer := -1;
  v_consumer_id text;
  l @.leases;
  v_single record;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream'), 'leaseMs', p_lease_ms); END IF;
  PERFORM @.hold(g.group_id, ARRAY(SELECT DISTINCT (value->>'p')::integer FROM jsonb_array_elements(p_items)));
  v_now := @.moment(p_now_ms);
  v_expires_at := v_now + coalesce(p_lease_ms, g.lease_ms) * interval '1 millisecond';
  FOR v_item IN SELECT value FROM jsonb_array_elements(p_items) LOOP
    v_index := v_index + 1;
    v_partition := (v_item->>'p')::integer;
    v_token := (v_item->>'t')::bigint;
    v_left := (v_item->>'s')::int8multirange;
    v_runs := '[]';
    FOR l IN SELECT * FROM @.leases WHERE group_id = g.group_id AND partition = v_partition AND token = v_token ORDER BY first_sequence LOOP
      v_mine := @.open_of(l) * v_left;
      CONTINUE WHEN isempty(v_mine);
      IF l.expires_at < v_expires_at THEN
        IF l.expires_at <= v_now THEN v_revived := v_revived || l.consumer_id; END IF;
        PERFORM @.renew_range(l, v_mine, v_expires_at);
      ELSIF l.expires_at > v_expires_at THEN
        v_kept := v_kept || (SELECT jsonb_agg(jsonb_build_array(v_index, lower(r), upper(r), @.ms(l.expires_at))) FROM unnest(v_mine) r);
      END IF;
      v_left := v_left - v_mine;
      v_runs := v_runs || @.runs_of('k', v_mine);
    END LOOP;
    IF NOT isempty(v_left) THEN
      -- one that a transaction of a user's is settling is left alone, and nobody else can claim it meanwhile
      v_mine := '{}';
      FOR v_single IN SELECT sequence, due_at, consumer_id FROM @.exceptions
        WHERE group_id = g.group_id AND partition = v_partition AND sequence IN (SELECT @.sequences(v_left)) AND state = 'leased' AND token = v_token
      LOOP
        v_mine := v_mine + int8multirange(int8range(v_single.sequence, v_single.sequence + 1));
        IF v_single.due_at <= v_now THEN v_revived := v_revived || v_single.consumer_id; END IF;
        IF v_single.due_at > v_expires_at THEN v_kept := v_kept || jsonb_build_array(jsonb_build_array(v_index, v_single.sequence, v_single.sequence + 1, @.ms(v_single.due_at))); END IF;
      END LOOP;
      UPDATE @.exceptions SET due_at = v_expires_at WHERE ctid = ANY (ARRAY(
        SELECT x.ctid FROM @.exceptions x WHERE x.group_id = g.group_id AND x.partition = v_partition AND x.sequence IN (SELECT @.sequences(v_mine))
          AND x.due_at < v_expires_at FOR NO KEY UPDATE SKIP LOCKED));
      v_left := v_left - v_mine;
      v_runs := v_runs || @.runs_of('k', v_mine);
    END IF;
    v_renewed := v_renewed OR v_runs <> '[]';
    FOR v_code, v_mine IN
      SELECT @.why_stale(g.group_id, g.stream_id, v_partition, v_token, s), range_agg(int8range(s, s + 1)) FROM @.sequences(v_left) s GROUP BY 1
    LOOP
      v_runs := v_runs || @.runs_of(v_code, v_mine);
    END LOOP;
    v_answers := v_answers || v_runs;
  END LOOP;
  -- members whose leases had run out and are live again: what was alone in them no longer is (T5)
  FOR v_consumer_id IN SELECT DISTINCT unnest(v_revived) LOOP
    PERFORM @.clear_alone(g.group_id, v_consumer_id, 2, 'infinity', '{}');
  END LOOP;
  IF v_renewed THEN PERFORM @.touch_member(g.group_id, p_consumer_id, g.lease_ms, v_now); END IF;
  RETURN jsonb_build_object('expiresAt', @.ms(v_expires_at), 'stale', to_jsonb(v_answers), 'kept', v_kept)::text;
END $$;`;
