/** What becomes of deliveries that leave a lease, and why others cannot: `apply` and `whyStale` in core's progress (F2, T1–T4, T6). */

/** Why a token no longer holds a delivery. `settled` is said only when nobody took it away first (F7). */
export const WHY_STALE = `
CREATE FUNCTION @.why_stale(p_group_id integer, p_stream_id integer, p_partition integer, p_token bigint, p_sequence bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_reset bigint;
  v_token bigint;
  v_first bigint;
  v_why text;
  v_kept bigint;
  v_oldest bigint;
BEGIN
  SELECT reset_token INTO v_reset FROM @.progress WHERE group_id = p_group_id AND partition = p_partition;
  SELECT token INTO v_token FROM @.head_of(p_group_id, p_partition);
  SELECT first_sequence INTO v_first FROM @.partitions WHERE stream_id = p_stream_id AND partition = p_partition;
  IF v_reset IS NULL OR v_first IS NULL OR v_token IS NULL THEN RETURN 'G'; END IF;
  IF p_token <= v_reset THEN RETURN 'X'; END IF;
  IF p_token > v_token OR p_sequence < v_first OR p_sequence > @.high_watermark(p_stream_id, p_partition) THEN RETURN 'G'; END IF;
  SELECT why INTO v_why FROM @.revocations
  WHERE group_id = p_group_id AND partition = p_partition AND token = p_token AND sequences @> p_sequence LIMIT 1;
  IF v_why IS NOT NULL THEN RETURN CASE v_why WHEN 'reset' THEN 'X' ELSE 'R' END; END IF;
  SELECT count(*), min(token) INTO v_kept, v_oldest FROM @.revocations WHERE group_id = p_group_id AND partition = p_partition;
  RETURN CASE WHEN v_kept >= 256 AND p_token < v_oldest THEN 'R' ELSE 'S' END;
END $$;`;

/** The outcome of deliveries that have just left a lease. Returns their code. Cost: none for ack, else a row each. */
export const LEAVE_RANGE = `
CREATE FUNCTION @.leave_range(
  l @.leases, p_stream_id integer, p_ordering text, p_max_attempts integer, p_taken int8multirange, p_outcome jsonb, p_now timestamptz
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_kind text := p_outcome->>'k';
BEGIN
  IF v_kind = 'a' THEN RETURN 'a'; END IF;
  IF v_kind = 'j' OR (v_kind = 'r' AND l.attempt >= p_max_attempts) THEN
    PERFORM @.bury(l.group_id, p_stream_id, l.partition, s, l.attempt, p_outcome->>'reason', p_outcome->>'stack', l.consumer_id,
      coalesce(l.first_failed_at, p_now), p_now) FROM @.sequences(p_taken) s;
    RETURN 'd';
  END IF;
  INSERT INTO @.exceptions (group_id, partition, sequence, token, attempt, takeovers, state, alone, leased_at, due_at, first_failed_at, failed_at,
    consumer_id, key, reason, stack)
  SELECT l.group_id, l.partition, s, l.token,
    CASE v_kind WHEN 'p' THEN l.attempt - 1 ELSE l.attempt END,
    CASE v_kind WHEN 'p' THEN l.takeovers ELSE 0 END,  -- one that failed by itself does not crash its process
    CASE v_kind WHEN 'p' THEN 'pending' ELSE 'retrying' END,
    0, l.leased_at,
    CASE v_kind WHEN 'p' THEN 'epoch' ELSE p_now + (p_outcome->>'delay')::bigint * interval '1 millisecond' END,
    CASE v_kind WHEN 'p' THEN l.first_failed_at ELSE coalesce(l.first_failed_at, p_now) END,
    CASE v_kind WHEN 'r' THEN p_now END,
    l.consumer_id,
    CASE p_ordering WHEN 'key' THEN (SELECT e.key FROM @.events e WHERE e.stream_id = p_stream_id AND e.partition = l.partition AND e.sequence = s) END,
    p_outcome->>'reason', p_outcome->>'stack'
  FROM @.sequences(p_taken) s;
  RETURN v_kind;
END $$;`;

/** Settles deliveries that are leased by themselves. Cost: a row each. */
export const SETTLE_EXCEPTIONS = `
CREATE FUNCTION @.settle_exceptions(
  p_group_id integer, p_stream_id integer, p_max_attempts integer, p_partition integer, p_token bigint, p_wanted int8multirange, p_outcome jsonb, p_now timestamptz
) RETURNS TABLE (code text, settled bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_kind text := p_outcome->>'k';
BEGIN
  IF v_kind = 'a' THEN
    RETURN QUERY DELETE FROM @.exceptions x WHERE x.group_id = p_group_id AND x.partition = p_partition AND x.sequence = ANY (ARRAY(SELECT @.sequences(p_wanted)))
      AND x.state = 'leased' AND x.token = p_token RETURNING 'a', x.sequence;
    RETURN;
  END IF;
  IF v_kind = 'p' THEN
    RETURN QUERY UPDATE @.exceptions x SET state = 'pending', attempt = x.attempt - 1, alone = 0, due_at = 'epoch'
      WHERE x.group_id = p_group_id AND x.partition = p_partition AND x.sequence = ANY (ARRAY(SELECT @.sequences(p_wanted)))
      AND x.state = 'leased' AND x.token = p_token RETURNING 'p', x.sequence;
    RETURN;
  END IF;
  RETURN QUERY WITH ended AS (
    DELETE FROM @.exceptions x WHERE x.group_id = p_group_id AND x.partition = p_partition AND x.sequence = ANY (ARRAY(SELECT @.sequences(p_wanted)))
      AND x.state = 'leased' AND x.token = p_token AND (v_kind = 'j' OR x.attempt >= p_max_attempts) RETURNING x.*
  ), buried AS (
    SELECT x.sequence, @.bury(p_group_id, p_stream_id, p_partition, x.sequence, x.attempt, p_outcome->>'reason', p_outcome->>'stack',
      coalesce(x.consumer_id, ''), coalesce(x.first_failed_at, p_now), p_now) FROM ended x
  ) SELECT 'd', b.sequence FROM buried b;
  IF v_kind = 'r' THEN
    RETURN QUERY UPDATE @.exceptions x SET state = 'retrying', alone = 0, takeovers = 0,
        due_at = p_now + (p_outcome->>'delay')::bigint * interval '1 millisecond', reason = p_outcome->>'reason', stack = p_outcome->>'stack',
        first_failed_at = coalesce(x.first_failed_at, p_now), failed_at = p_now
      WHERE x.group_id = p_group_id AND x.partition = p_partition AND x.sequence = ANY (ARRAY(SELECT @.sequences(p_wanted)))
      AND x.state = 'leased' AND x.token = p_token RETURNING 'r', x.sequence;
  END IF;
END $$;`;
