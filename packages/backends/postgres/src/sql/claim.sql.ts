/**
 * Fetching beyond the happy path: the twin of `claim`, `turn` and `order` in core's progress (G2–G9). The happy path is in `fetch.sql.ts`.
 */

/**
 * What order leaves free of what is unsettled, lane by lane, where none of a lane is leased (a lane is a key, or the partition): `firsts`,
 * and beside them what may follow in a run, because all before it in its lane are exceptions that time allows; with lanes and positions in them.
 */
export const FREE_OF = `
CREATE FUNCTION @.free_of(p @.pass, p_place integer) RETURNS @.free LANGUAGE sql STABLE AS $$
  SELECT ROW(coalesce(range_agg(int8range(w.sequence, w.sequence + 1)) FILTER (WHERE w.position = 1), '{}'),
    array_agg(w.sequence ORDER BY w.sequence), array_agg(coalesce(w.lane, '') ORDER BY w.sequence), array_agg(w.position ORDER BY w.sequence))::@.free
  FROM (
    SELECT u.sequence, u.lane, bool_or(u.live) OVER lanes AS busy, bool_and(u.claimable) OVER upto AS reachable,
      CASE WHEN u.lane IS NULL THEN 1 ELSE row_number() OVER upto END::integer AS position
    FROM (
      SELECT s AS sequence, CASE p.ordering WHEN 'partition' THEN ''
        ELSE (SELECT e.key FROM @.events e WHERE e.stream_id = p.stream_id AND e.partition = l.partition AND e.sequence = s) END AS lane,
        l.expires_at > p.now AS live, false AS claimable
      FROM @.leases l CROSS JOIN LATERAL @.sequences(@.open_of(l)) s
      WHERE l.group_id = p.group_id AND l.partition = p.places[p_place].partition AND l.token >= p.places[p_place].old_floor
      UNION ALL
      SELECT x.sequence, CASE p.ordering WHEN 'partition' THEN '' ELSE x.key END, x.state = 'leased' AND x.due_at > p.now,
        x.due_at IS NULL OR x.due_at <= p.now
      FROM @.exceptions x WHERE x.group_id = p.group_id AND x.partition = p.places[p_place].partition
    ) u WINDOW lanes AS (PARTITION BY u.lane), upto AS (PARTITION BY u.lane ORDER BY u.sequence)
  ) w WHERE w.lane IS NULL OR (NOT w.busy AND (w.position = 1 OR (w.reachable AND w.position <= p.run_limit)))
$$;`;

/** Takes from one partition, unless somebody else holds it; `p_reserved` of what is left is for new events. */
export const VISIT = `
CREATE FUNCTION @.visit(p @.pass, p_partition integer, p_backlog boolean, p_due boolean, p_expired boolean, p_reserved integer)
RETURNS @.pass LANGUAGE plpgsql AS $$
DECLARE
  v_place integer;
  v_free @.free;
  v_spare integer;
  h @.cursors;
BEGIN
  FOR i IN 1 .. cardinality(p.places) LOOP
    IF p.places[i].partition = p_partition THEN v_place := i; END IF;
  END LOOP;
  IF v_place IS NULL THEN
    PERFORM FROM @.progress WHERE group_id = p.group_id AND partition = p_partition FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      p.skipped := p_partition;
      RETURN p;
    END IF;
    IF EXISTS (SELECT FROM @.settlements WHERE group_id = p.group_id AND partition = p_partition) THEN PERFORM @.fold(p.group_id, p_partition); END IF;
    SELECT * INTO h FROM @.head_of(p.group_id, p_partition);
    p.places := p.places || ROW(p_partition, h.token, h.token, h.cursor, h.cursor, h.floor)::@.place;
    v_place := cardinality(p.places);
  END IF;
  p.ended := '{}';
  IF p.ordering <> 'none' THEN SELECT * INTO v_free FROM @.free_of(p, v_place); END IF;
  v_spare := least(p_reserved, p.room);
  p.room := p.room - v_spare;
  IF p_expired AND @.is_open(p) THEN p := @.take_expired(p, v_place, v_free.firsts); END IF;
  IF (p_due OR p.ordering <> 'none') AND @.is_open(p) THEN p := @.take_due(p, v_place, v_free); END IF;
  p.room := p.room + v_spare;
  IF p_backlog AND @.is_open(p) THEN p := @.take_new(p, v_place); END IF;
  RETURN p;
END $$;`;

/**
 * Decides the order in which one fetch visits partitions and whether it keeps half of itself for new events, visits them, and writes
 * where they stand. `p_turn` and `p_streak` are the group's fairness, kept by each process (G3, G4).
 */
export const CLAIM = `
CREATE FUNCTION @.claim(
  p @.pass, p_partitions integer[], p_backlogs boolean[], p_dues boolean[], p_expireds boolean[], p_alone boolean,
  p_turn integer, p_streak integer, p_partition_count integer
) RETURNS @.pass LANGUAGE plpgsql AS $$
DECLARE
  v_contested boolean := (true = ANY (p_dues) OR true = ANY (p_expireds)) AND true = ANY (p_backlogs);
  v_due_first boolean := v_contested AND p_streak < 3;
  v_reserved integer := 0;
  v_order integer[];
  v_reserved_by_member boolean;
  i integer;
BEGIN
  p.scan_left := 10000;
  p.granted := 0;
  p.suspects := 0;
  p.more := false;
  p.closed := false;
  p.died := '[]';
  p.turn := p_turn;
  p.streak := p_streak;
  SELECT count(*), coalesce(bool_or(m.takeovers > 1 OR m.alone = 2), false),
    coalesce(bool_or(m.alone = 2 AND m.leased_at > p.now - 10 * p.lease), false)
  INTO p.held, p.held_searching, v_reserved_by_member FROM (
    SELECT l.takeovers, l.alone, l.leased_at FROM @.progress q CROSS JOIN LATERAL @.head_of(q.group_id, q.partition) h
    JOIN @.leases l ON l.group_id = q.group_id AND l.partition = q.partition AND l.token >= h.floor
    WHERE q.group_id = p.group_id AND l.consumer_id = p.consumer_id AND l.expires_at > p.now
    UNION ALL
    SELECT x.takeovers, x.alone, x.leased_at FROM @.exceptions x
    WHERE x.group_id = p.group_id AND x.consumer_id = p.consumer_id AND x.state = 'leased' AND x.due_at > p.now
  ) m;
  IF p_alone AND v_reserved_by_member THEN RETURN p; END IF;
  p.streak := CASE WHEN v_due_first THEN p_streak + 1 ELSE 0 END;
  v_order := ARRAY(SELECT n FROM generate_subscripts(p_partitions, 1) n
    ORDER BY v_due_first AND NOT (p_dues[n] OR p_expireds[n]), p_partitions[n] < p_turn % p_partition_count, p_partitions[n]);
  IF cardinality(p_partitions) > 1 AND NOT v_due_first THEN p.turn := (p_partitions[v_order[1]] + 1) % p_partition_count; END IF;
  IF v_contested AND NOT v_due_first THEN v_reserved := (p.room + 1) / 2; END IF;
  FOREACH i IN ARRAY v_order LOOP
    EXIT WHEN NOT @.is_open(p);
    p := @.visit(p, p_partitions[i], p_backlogs[i], p_dues[i], p_expireds[i], v_reserved);
  END LOOP;
  IF v_reserved > 0 THEN
    FOREACH i IN ARRAY v_order LOOP
      EXIT WHEN NOT @.is_open(p);
      p := @.visit(p, p_partitions[i], p_backlogs[i], p_dues[i], p_expireds[i], 0);
    END LOOP;
  END IF;
  PERFORM @.mark_chances(p, p_alone);
  FOR i IN 1 .. cardinality(p.places) LOOP
    PERFORM @.put_cursor(p.group_id, p.places[i]);
  END LOOP;
  RETURN p;
END $$;`;
