/** Exceptions that time allows: the twin of `take-due` in core's progress (T1, T3–T5). */

/**
 * Exceptions that time allows, the longest due first; where order is kept, the free ones by sequence. Decided one by one, written
 * together. Cost: one row each.
 */
export const TAKE_DUE = `
CREATE FUNCTION @.take_due(p @.pass, p_place integer, p_free @.free) RETURNS @.pass LANGUAGE plpgsql AS $$
DECLARE
  v_partition integer := p.places[p_place].partition;
  v_found refcursor;
  x record;
  v_expired boolean;
  v_alone integer;
  v_attempt integer;
  v_sequences bigint[] := '{}';
  v_attempts integer[] := '{}';
  v_alones integer[] := '{}';
  v_taken jsonb := '{}'; -- how many of each lane
  v_grant record;
BEGIN
  IF p.ordering = 'none' THEN
    OPEN v_found FOR SELECT t.*, e.bytes, '' AS lane, 1 AS position FROM @.exceptions t
      LEFT JOIN LATERAL @.event_at(p.stream_id, t.partition, t.sequence) e ON true
      WHERE t.group_id = p.group_id AND t.partition = v_partition AND t.due_at <= p.now
      ORDER BY t.due_at, t.sequence LIMIT p.room FOR UPDATE OF t SKIP LOCKED;
  ELSE
    OPEN v_found FOR SELECT t.*, e.bytes, f.lane, f.position FROM unnest(p_free.sequences, p_free.lanes, p_free.positions) f (sequence, lane, position)
      JOIN @.exceptions t ON t.group_id = p.group_id AND t.partition = v_partition AND t.sequence = f.sequence
      LEFT JOIN LATERAL @.event_at(p.stream_id, t.partition, t.sequence) e ON true
      WHERE t.due_at IS NULL OR t.due_at <= p.now
      ORDER BY t.sequence FOR UPDATE OF t SKIP LOCKED;
  END IF;
  LOOP
    EXIT WHEN NOT @.is_open(p);
    FETCH v_found INTO x;
    EXIT WHEN NOT FOUND;
    -- in a run each follows the one before it, or is not taken
    CONTINUE WHEN x.position > 1 AND coalesce((v_taken->>x.lane)::integer, 0) <> x.position - 1;
    v_expired := x.state = 'leased';
    IF x.bytes IS NULL THEN -- its event is not there
      IF v_expired THEN PERFORM @.revoke(p.group_id, v_partition, x.token, int8multirange(int8range(x.sequence, x.sequence + 1)), 'reclaimed'); END IF;
      DELETE FROM @.exceptions WHERE group_id = p.group_id AND partition = v_partition AND sequence = x.sequence;
      PERFORM @.skip(p.group_id, v_partition, 1);
      CONTINUE;
    END IF;
    IF x.attempt >= p.max_attempts AND (NOT v_expired OR x.alone > 0) THEN
      IF v_expired THEN PERFORM @.revoke(p.group_id, v_partition, x.token, int8multirange(int8range(x.sequence, x.sequence + 1)), 'reclaimed'); END IF;
      DELETE FROM @.exceptions WHERE group_id = p.group_id AND partition = v_partition AND sequence = x.sequence;
      p := @.expire_in(p, v_partition, x.sequence, x.attempt, CASE WHEN NOT v_expired THEN x.reason END,
        CASE WHEN NOT v_expired THEN x.stack END, coalesce(x.consumer_id, ''), coalesce(x.first_failed_at, x.due_at, p.now));
      CONTINUE;
    END IF;
    v_attempt := x.attempt + 1;
    v_alone := 0;
    IF (v_expired OR x.takeovers > 0) AND v_attempt >= p.max_attempts THEN
      v_alone := @.last_chance(p, coalesce(x.due_at, 'epoch'));
      p.closed := v_alone = -2;
      CONTINUE WHEN v_alone < 0;
      v_attempt := @.attempt_of(p, x.attempt, x.takeovers, x.alone);
    ELSIF x.takeovers > 0 AND @.is_searching(p) THEN
      CONTINUE;
    END IF;
    CONTINUE WHEN p.granted > 0 AND x.bytes > p.bytes_left;
    IF v_expired THEN PERFORM @.revoke(p.group_id, v_partition, x.token, int8multirange(int8range(x.sequence, x.sequence + 1)), 'reclaimed'); END IF;
    IF p.run_limit > 1 THEN v_taken := v_taken || jsonb_build_object(x.lane, x.position); END IF;
    v_sequences := v_sequences || x.sequence;
    v_attempts := v_attempts || v_attempt;
    v_alones := v_alones || v_alone;
    IF v_expired OR x.takeovers > 0 THEN p.suspects := p.suspects + 1; END IF;
    p.room := p.room - 1;
    p.granted := p.granted + 1;
    p.bytes_left := p.bytes_left - x.bytes;
    p.closed := v_alone = 2;
  END LOOP;
  CLOSE v_found;
  IF cardinality(v_sequences) = 0 THEN RETURN p; END IF;
  p := @.token_in(p, p_place);
  UPDATE @.exceptions t SET state = 'leased', attempt = n.attempt, takeovers = t.takeovers + CASE t.state WHEN 'leased' THEN 1 ELSE 0 END, alone = n.alone,
    token = p.places[p_place].token, consumer_id = p.consumer_id, leased_at = p.now, due_at = p.expires_at,
    first_failed_at = coalesce(t.first_failed_at, CASE t.state WHEN 'leased' THEN t.due_at END)
  FROM unnest(v_sequences, v_attempts, v_alones) AS n (sequence, attempt, alone)
  WHERE t.group_id = p.group_id AND t.partition = v_partition AND t.sequence = n.sequence;
  FOR v_grant IN
    SELECT n.attempt, range_agg(int8range(n.sequence, n.sequence + 1)) AS sequences, count(*)::integer AS count
    FROM unnest(v_sequences, v_attempts) WITH ORDINALITY AS n (sequence, attempt, place) GROUP BY n.attempt ORDER BY min(n.place)
  LOOP
    -- counted above
    p.room := p.room + v_grant.count;
    p.granted := p.granted - v_grant.count;
    p := @.grant_in(p, p_place, v_grant.attempt, v_grant.sequences, 0);
  END LOOP;
  RETURN p;
END $$;`;
