/**
 * One fetch under way, as `Pass` in core's progress: what it may still take, and what it has taken. A `pass` is taken and given back by each
 * function; a `place` in it is a partition that this fetch holds.
 */

/** Whether anything more may be given. */
export const IS_OPEN = `
CREATE FUNCTION @.is_open(p @.pass) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT p.room > 0 AND p.bytes_left > 0 AND NOT p.closed $$;`;

/** Makes sure that the place has a token of this fetch. */
export const TOKEN_IN = `
CREATE FUNCTION @.token_in(p @.pass, p_place integer) RETURNS @.pass LANGUAGE plpgsql AS $$
BEGIN
  IF p.places[p_place].token = p.places[p_place].old_token THEN p.places[p_place].token := p.places[p_place].old_token + 1; END IF;
  RETURN p;
END $$;`;

/** Notes deliveries as given, together with those of the same partition and attempt. The token is the next after the last (F1). */
export const GRANT_IN = `
CREATE FUNCTION @.grant_in(p @.pass, p_place integer, p_attempt integer, p_sequences int8multirange, p_bytes bigint) RETURNS @.pass LANGUAGE plpgsql AS $$
DECLARE
  v_count integer := @.size_of(p_sequences);
  v_partition integer := p.places[p_place].partition;
BEGIN
  p.room := p.room - v_count;
  p.granted := p.granted + v_count;
  p.bytes_left := p.bytes_left - p_bytes;
  FOR i IN 1 .. cardinality(p.grants) LOOP
    IF p.grants[i].partition = v_partition AND p.grants[i].attempt = p_attempt THEN
      p.grants[i].sequences := p.grants[i].sequences + p_sequences;
      p.grants[i].count := p.grants[i].count + v_count;
      RETURN p;
    END IF;
  END LOOP;
  p.grants := p.grants || ROW(v_partition, p.places[p_place].token, p_attempt, v_count, p_sequences)::@.granted;
  RETURN p;
END $$;`;

/** Notes a dead letter and writes it; the caller has removed the open record. */
export const EXPIRE_IN = `
CREATE FUNCTION @.expire_in(
  p @.pass, p_partition integer, p_sequence bigint, p_attempts integer, p_reason text, p_stack text, p_consumer_id text, p_first_failed_at timestamptz
) RETURNS @.pass LANGUAGE plpgsql AS $$
DECLARE
  v_reason text := coalesce(p_reason, format('The lease of attempt %s ran out: consumer "%s" stopped, hung or was cut off before settling.', p_attempts, p_consumer_id));
BEGIN
  PERFORM @.bury(p.group_id, p.stream_id, p_partition, p_sequence, p_attempts, v_reason, p_stack, p_consumer_id, p_first_failed_at, p.now);
  -- what waits behind it waits until the next fetch
  IF p.ordering <> 'none' THEN
    p.ended := p.ended || coalesce((SELECT e.key FROM @.events e WHERE e.stream_id = p.stream_id AND e.partition = p_partition AND e.sequence = p_sequence), '');
  END IF;
  p.died := p.died || jsonb_build_object('partition', p_partition, 'sequence', p_sequence, 'reason', v_reason);
  RETURN p;
END $$;`;

/** Writes where a partition stands now: one row in, one out. */
export const PUT_CURSOR = `
CREATE FUNCTION @.put_cursor(p_group_id integer, c @.place) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF c.token <> c.old_token THEN
    INSERT INTO @.cursors (group_id, partition, token, cursor, floor) VALUES (p_group_id, c.partition, c.token, c.cursor, coalesce((
      SELECT l.token FROM @.leases l WHERE l.group_id = p_group_id AND l.partition = c.partition AND l.token >= c.old_floor ORDER BY l.token LIMIT 1
    ), c.token));
    DELETE FROM @.cursors WHERE group_id = p_group_id AND partition = c.partition AND token = c.old_token;
  ELSIF c.cursor <> c.old_cursor THEN
    UPDATE @.cursors SET cursor = c.cursor WHERE group_id = p_group_id AND partition = c.partition AND token = c.token;
  END IF;
END $$;`;
