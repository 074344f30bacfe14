/**
 * Settling: the twin of `settle` in core's progress (F2–F4, T1–T4, T6). A settlement is `{ p, t, s, k, delay?, reason?, stack? }`:
 * partition, token, sequences as an int8multirange, and the outcome: a(ck), p(ending: release), r(etry), j (reject). An answer is a
 * code for all of them, or runs `[code, first, last + 1]`. Codes: a(cked), p(ending), r(etrying), d(ead), and stale: R(eclaimed),
 * S(ettled), X (reset), G(one).
 */

/**
 * Closes positions in one lease, whose partition the caller holds: which of them were open. Where a transaction of a user's is
 * settling others of the same lease, rows in settlements tell whether it is settling one of these too, and wait for it only then.
 */
export const CLOSE_POSITIONS = `
CREATE FUNCTION @.close_positions(l @.leases, p_wanted int8multirange) RETURNS int8multirange LANGUAGE plpgsql AS $$
DECLARE
  v_lease @.leases;
  v_taken int8multirange;
BEGIN
  SELECT * INTO v_lease FROM @.leases
  WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    WITH mine AS (
      INSERT INTO @.settlements (group_id, partition, token, sequence)
      SELECT l.group_id, l.partition, l.token, s FROM @.sequences(@.open_of(l) * p_wanted) s ON CONFLICT DO NOTHING RETURNING sequence
    ) SELECT coalesce(range_agg(int8range(sequence, sequence + 1)), '{}') INTO v_taken FROM mine;
    PERFORM @.fold(l.group_id, l.partition);
    RETURN v_taken;
  END IF;
  IF EXISTS (SELECT FROM @.settlements WHERE group_id = l.group_id AND partition = l.partition AND token = l.token) THEN
    PERFORM @.fold(l.group_id, l.partition);
    SELECT * INTO v_lease FROM @.leases
    WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence;
    IF NOT FOUND THEN RETURN '{}'; END IF;
  END IF;
  v_taken := @.open_of(v_lease) * p_wanted;
  IF NOT isempty(v_taken) THEN PERFORM @.keep_open(v_lease, @.open_of(v_lease) - v_taken); END IF;
  RETURN v_taken;
END $$;`;

/** Runs of one code. */
export const RUNS_OF = `
CREATE FUNCTION @.runs_of(p_code text, p_ranges int8multirange) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_array(p_code, lower(r), upper(r))), '[]') FROM unnest(p_ranges) r
$$;`;

/** What is left once leases have been asked: single leases, then reasons to refuse. */
export const SETTLE_REST = `
CREATE FUNCTION @.settle_rest(
  p_group_id integer, p_stream_id integer, p_max_attempts integer, p_partition integer, p_token bigint, p_left int8multirange, p_outcome jsonb, p_now timestamptz
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_runs jsonb := '[]';
  v_left int8multirange := p_left;
  v_code text;
  v_ranges int8multirange;
BEGIN
  FOR v_code, v_ranges IN
    SELECT x.code, range_agg(int8range(x.settled, x.settled + 1))
    FROM @.settle_exceptions(p_group_id, p_stream_id, p_max_attempts, p_partition, p_token, p_left, p_outcome, p_now) x GROUP BY x.code
  LOOP
    v_runs := v_runs || @.runs_of(v_code, v_ranges);
    v_left := v_left - v_ranges;
  END LOOP;
  FOR v_code, v_ranges IN
    SELECT @.why_stale(p_group_id, p_stream_id, p_partition, p_token, s), range_agg(int8range(s, s + 1)) FROM @.sequences(v_left) s GROUP BY 1
  LOOP
    v_runs := v_runs || @.runs_of(v_code, v_ranges);
  END LOOP;
  RETURN v_runs;
END $$;`;

/**
 * Settles each of a batch; the caller holds their partitions. Cost of acking a whole lease: one row deleted. Of a part: one updated.
 */
export const SETTLE_ALL = `
CREATE FUNCTION @.settle_all(
  p_group_id integer, p_stream_id integer, p_ordering text, p_max_attempts integer, p_settlements jsonb, p_now timestamptz
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_answers jsonb[] := '{}';
  v_item jsonb;
  v_partition integer;
  v_token bigint;
  v_left int8multirange;
  v_taken int8multirange;
  v_runs jsonb;
  l @.leases;
BEGIN
  FOR v_item IN SELECT value FROM jsonb_array_elements(p_settlements) LOOP
    v_partition := (v_item->>'p')::integer;
    v_token := (v_item->>'t')::bigint;
    v_left := (v_item->>'s')::int8multirange;
    IF v_item->>'k' = 'a' THEN
      SELECT * INTO l FROM @.leases
      WHERE group_id = p_group_id AND partition = v_partition AND token = v_token AND first_sequence = lower(v_left) FOR UPDATE SKIP LOCKED;
      IF FOUND AND @.open_of(l) = v_left THEN
        DELETE FROM @.leases
        WHERE group_id = p_group_id AND partition = v_partition AND token = v_token AND first_sequence = l.first_sequence
          AND NOT EXISTS (SELECT FROM @.settlements WHERE group_id = p_group_id AND partition = v_partition AND token = v_token);
        IF FOUND THEN
          v_answers := v_answers || '"a"'::jsonb;
          CONTINUE;
        END IF;
      END IF;
    END IF;
    v_runs := '[]';
    FOR l IN SELECT * FROM @.leases WHERE group_id = p_group_id AND partition = v_partition AND token = v_token ORDER BY first_sequence LOOP
      CONTINUE WHEN NOT @.open_of(l) && v_left;
      v_taken := @.close_positions(l, v_left);
      CONTINUE WHEN isempty(v_taken);
      v_left := v_left - v_taken;
      v_runs := v_runs || @.runs_of(@.leave_range(l, p_stream_id, p_ordering, p_max_attempts, v_taken, v_item, p_now), v_taken);
    END LOOP;
    IF NOT isempty(v_left) THEN
      v_runs := v_runs || @.settle_rest(p_group_id, p_stream_id, p_max_attempts, v_partition, v_token, v_left, v_item, p_now);
    END IF;
    v_answers := v_answers || v_runs;
  END LOOP;
  RETURN to_jsonb(v_answers);
END $$;`;
