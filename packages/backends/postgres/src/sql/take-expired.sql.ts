/** Range leases that ran out: the twin of `take-expired` in core's progress (T1, T4, T5). */

/** Leases the first of `p_wanted` that fit anew; what remains stays as it was, expired, but for what is not there. Cost: three rows. */
export const MOVE_LEASE = `
CREATE FUNCTION @.move_lease(p @.pass, p_place integer, l @.leases, p_wanted int8multirange, p_most bigint, p_attempt integer, p_alone integer)
RETURNS @.pass LANGUAGE plpgsql AS $$
DECLARE
  v_taken int8multirange;
  v_gone int8multirange;
  v_bytes bigint;
BEGIN
  SELECT range_agg(int8range(a.s, a.s + 1)) FILTER (WHERE a.bytes IS NOT NULL), sum(a.bytes), range_agg(int8range(a.s, a.s + 1)) FILTER (WHERE a.bytes IS NULL)
  INTO v_taken, v_bytes, v_gone FROM (
    SELECT w.s, e.bytes, sum(e.bytes) OVER (ORDER BY w.s) AS upto, row_number() OVER (ORDER BY w.s) AS n
    FROM (SELECT s FROM @.sequences(p_wanted) s ORDER BY s LIMIT least(p_most, p.room)) w
    LEFT JOIN LATERAL @.event_at(p.stream_id, l.partition, w.s) e ON true
  ) a WHERE a.bytes IS NULL OR a.upto <= p.bytes_left OR (a.n = 1 AND p.granted = 0);
  IF v_gone IS NOT NULL THEN
    PERFORM @.keep_open(l, @.open_of(l) - v_gone);
    PERFORM @.revoke(p.group_id, l.partition, l.token, v_gone, 'reclaimed');
    PERFORM @.skip(p.group_id, l.partition, @.size_of(v_gone));
    SELECT * INTO l FROM @.leases WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence;
  END IF;
  IF v_taken IS NULL THEN RETURN p; END IF;
  p := @.token_in(p, p_place);
  PERFORM @.keep_open(l, @.open_of(l) - v_taken);
  PERFORM @.revoke(p.group_id, l.partition, l.token, v_taken, 'reclaimed');
  INSERT INTO @.leases (group_id, partition, token, first_sequence, last_sequence, open_count, attempt, takeovers, alone, leased_at, expires_at,
    first_failed_at, consumer_id, open_set)
  VALUES (p.group_id, l.partition, p.places[p_place].token, lower(v_taken), upper(v_taken) - 1, @.size_of(v_taken), p_attempt, l.takeovers + 1, p_alone,
    p.now, p.expires_at, coalesce(l.first_failed_at, l.expires_at), p.consumer_id,
    CASE WHEN v_taken <> int8multirange(range_merge(v_taken)) THEN v_taken END);
  p.suspects := p.suspects + @.size_of(v_taken);
  RETURN @.grant_in(p, p_place, p_attempt, v_taken, v_bytes);
END $$;`;

/**
 * Range leases that ran out. The first takeover takes the whole rest; each later one half of it, so that a crasher is found in log2(n)
 * crashes. Attempts stop one short of the last for what is taken from among others. What a transaction of a user's is settling is left.
 */
export const TAKE_EXPIRED = `
CREATE FUNCTION @.take_expired(p @.pass, p_place integer, p_free int8multirange) RETURNS @.pass LANGUAGE plpgsql AS $$
DECLARE
  r @.leases;
  l @.leases;
  v_partition integer := p.places[p_place].partition;
  v_eligible int8multirange;
  v_last boolean;
  v_searching boolean;
  v_alone integer;
BEGIN
  FOR r IN
    SELECT * FROM @.leases WHERE group_id = p.group_id AND partition = v_partition AND token >= p.places[p_place].old_floor AND expires_at <= p.now
    ORDER BY coalesce(lower(open_set), first_sequence)
  LOOP
    IF NOT @.is_open(p) THEN RETURN p; END IF;
    SELECT * INTO l FROM @.leases
    WHERE group_id = r.group_id AND partition = r.partition AND token = r.token AND first_sequence = r.first_sequence FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    IF EXISTS (SELECT FROM @.settlements WHERE group_id = l.group_id AND partition = l.partition AND token = l.token) THEN
      PERFORM @.fold(l.group_id, l.partition);
      SELECT * INTO l FROM @.leases
      WHERE group_id = r.group_id AND partition = r.partition AND token = r.token AND first_sequence = r.first_sequence;
      CONTINUE WHEN NOT FOUND;
    END IF;
    v_eligible := CASE WHEN p_free IS NULL THEN @.open_of(l) ELSE @.open_of(l) * p_free END;
    CONTINUE WHEN isempty(v_eligible);
    v_last := l.attempt + 1 >= p.max_attempts;
    IF l.open_count = 1 AND l.alone > 0 AND l.attempt >= p.max_attempts THEN
      PERFORM @.revoke(p.group_id, v_partition, l.token, @.open_of(l), 'reclaimed');
      PERFORM @.keep_open(l, '{}');
      p := @.expire_in(p, v_partition, lower(@.open_of(l)), l.attempt, NULL, NULL, l.consumer_id, coalesce(l.first_failed_at, l.expires_at));
    ELSIF l.open_count = 1 AND v_last THEN
      v_alone := @.last_chance(p, l.expires_at);
      IF v_alone >= 0 THEN p := @.move_lease(p, p_place, l, v_eligible, 1, @.attempt_of(p, l.attempt, l.takeovers, l.alone), v_alone); END IF;
      p.closed := v_alone = -2 OR (v_alone = 2 AND p.granted > 0);
    ELSE
      v_searching := l.takeovers > 0 OR v_last;
      CONTINUE WHEN v_searching AND @.is_searching(p);
      p := @.move_lease(p, p_place, l, v_eligible,
        CASE WHEN v_searching THEN (l.open_count + 1) / 2 ELSE l.open_count END,
        CASE WHEN v_last THEN greatest(l.attempt, p.max_attempts - 1) ELSE l.attempt + 1 END, 0);
    END IF;
  END LOOP;
  RETURN p;
END $$;`;
