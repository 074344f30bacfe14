/** Exchange: settles, then fetches, in one call (the port's `exchange`). The happy path is here; what lies beyond it is in `claim.sql.ts`. */

/**
 * Which partitions have anything to claim. Cost: the partitions of the group, an index look-up or four each; its leases in flight. Nothing
 * depends on the history or the backlog. Writes nothing.
 */
export const SURVEY = `
CREATE FUNCTION @.survey(p_group_id integer, p_stream_id integer, p_now timestamptz, p_exceptions boolean) RETURNS TABLE (
  partition integer, cursor bigint, token bigint, floor bigint, backlog boolean, inflight bigint, expired boolean, alone boolean,
  exceptional boolean, due boolean
) LANGUAGE sql STABLE AS $$
  SELECT p.partition, h.cursor, h.token, h.floor,
    EXISTS (SELECT FROM @.events e WHERE e.stream_id = p_stream_id AND e.partition = p.partition AND e.sequence > h.cursor),
    l.inflight + coalesce(x.inflight, 0), l.expired, l.alone OR coalesce(x.alone, false), coalesce(x.exceptional, false), coalesce(x.due, false)
  FROM @.progress p
  CROSS JOIN LATERAL (
    SELECT c.cursor, c.token, c.floor FROM @.cursors c WHERE c.group_id = p.group_id AND c.partition = p.partition ORDER BY c.token DESC LIMIT 1
  ) h
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(l.open_count) FILTER (WHERE l.expires_at > p_now), 0) AS inflight,
      coalesce(bool_or(l.expires_at <= p_now), false) AS expired, coalesce(bool_or(l.alone > 0), false) AS alone
    FROM @.leases l WHERE l.group_id = p.group_id AND l.partition = p.partition AND l.token >= h.floor
  ) l
  LEFT JOIN LATERAL (
    SELECT EXISTS (SELECT FROM @.exceptions x WHERE x.group_id = p.group_id AND x.partition = p.partition) AS exceptional,
      EXISTS (SELECT FROM @.exceptions x WHERE x.group_id = p.group_id AND x.partition = p.partition AND x.due_at <= p_now) AS due,
      (SELECT count(*) FROM @.exceptions x WHERE x.group_id = p.group_id AND x.partition = p.partition AND x.state = 'leased' AND x.due_at > p_now) AS inflight,
      EXISTS (SELECT FROM @.exceptions x WHERE x.group_id = p.group_id AND x.partition = p.partition AND x.state = 'leased' AND x.alone > 0) AS alone
  ) x ON p_exceptions
  WHERE p.group_id = p_group_id
$$;`;

/**
 * The same for a group without exceptions, order or filter, at a third of the cost: deliveries in flight, whether new events are all that
 * there may be to give, and the partitions that have some, in any order. Not so where a lease has expired or is a suspect's: then
 * survey() says more.
 */
export const SURVEY_PLAIN = `
CREATE FUNCTION @.survey_plain(p_group_id integer, p_stream_id integer, p_partitions integer[], p_now timestamptz) RETURNS TABLE (
  inflight bigint, plain boolean, partitions integer[]
) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(l.inflight), 0)::bigint, NOT coalesce(bool_or(l.unusual), false), array_agg(p.partition) FILTER (
    WHERE (p_partitions IS NULL OR p.partition = ANY (p_partitions))
      AND EXISTS (SELECT FROM @.events e WHERE e.stream_id = p_stream_id AND e.partition = p.partition AND e.sequence > h.cursor)
  )
  FROM @.progress p
  CROSS JOIN LATERAL (
    SELECT c.cursor, c.floor FROM @.cursors c WHERE c.group_id = p.group_id AND c.partition = p.partition ORDER BY c.token DESC LIMIT 1
  ) h
  CROSS JOIN LATERAL (
    SELECT sum(l.open_count) FILTER (WHERE l.expires_at > p_now) AS inflight, bool_or(l.expires_at <= p_now OR l.alone > 0) AS unusual
    FROM @.leases l WHERE l.group_id = p.group_id AND l.partition = p.partition AND l.token >= h.floor
  ) l
  WHERE p.group_id = p_group_id
$$;`;

/** The answer without the events, in the shape of a row of them. */
export const GRANT_HEADER = `
CREATE FUNCTION @.grant_header(p_answer jsonb) RETURNS @.grant_row LANGUAGE sql IMMUTABLE AS $$
  SELECT ROW(p_answer::text, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::@.grant_row
$$;`;

/** Between the metadata of two events, and between their payloads: JSON has no such character in it. */
export const BETWEEN: string = "\u0001";

/** Events as few texts: a driver takes longer to read a row of seven values than a server to put it there. */
const TEXTS = `json_agg(e.id), json_agg(@.ms(e.timestamp)), json_agg(e.type), json_agg(e.key), string_agg(e.metadata::text, E'\\x01'),
  string_agg(e.payload::text, E'\\x01')`;

/**
 * The first row has the answer without the events; then there is a row for each grant: ids, times (ms), types and keys of its events as JSON, their metadata
 * and payloads as texts with U+0001 between them, and their sequences as JSON unless they are all from the first on. Null settlements or limit: that
 * part is empty.
 * Partitions that others hold are passed over. If nothing was given because of that, the answer names one, and the call is made again with
 * `p_wait_for`: it then holds nothing that anybody else could be waiting for.
 * Cost of the happy path, however many events: two rows in (lease, cursor), two out (the lease settled, the cursor before).
 */
export const EXCHANGE: string = `
CREATE FUNCTION @.settle_and_fetch(
  p_stream text, p_group text, p_settlements jsonb, p_limit integer, p_max_bytes bigint, p_consumer_id text, p_lease_ms bigint, p_partitions integer[],
  p_turn integer, p_streak integer, p_wait_for integer, p_now_ms bigint, p_run_limit integer
) RETURNS SETOF @.grant_row LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  g record;
  v_answer jsonb;
  v_now timestamptz;
  v_exceptions boolean;
  v_plain boolean;  -- all that there is to give is new events, whose ranges are known without a look at them
  v_held boolean := false;
  v_inflight bigint;
  v_alone boolean;
  v_due boolean;
  v_partitions integer[];
  v_backlogs boolean[];
  v_dues boolean[];
  v_expireds boolean[];
  v_room bigint;
  v_counts_bytes boolean;
  v_lease interval;
  v_granted integer := 0;
  v_last bigint;
  v_partition integer;
  h @.cursors;
  v_grants jsonb := '[]';
  v_grant @.granted;
  v_texts @.grant_row;
  v_rows integer;
  p @.pass;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN
    RETURN NEXT @.grant_header(jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')));
    RETURN;
  END IF;
  v_answer := jsonb_build_object('stream', g.stream_id, 'ordering', g.ordering);
  IF p_settlements IS NOT NULL THEN
    PERFORM @.hold(g.group_id, ARRAY(SELECT DISTINCT (value->>'p')::integer FROM jsonb_array_elements(p_settlements)));
    v_answer := v_answer || jsonb_build_object('settled',
      @.settle_all(g.group_id, g.stream_id, g.ordering, g.max_attempts, p_settlements, @.moment(p_now_ms)));
  END IF;
  IF p_limit IS NULL OR g.paused THEN
    RETURN NEXT @.grant_header(v_answer);
    RETURN;
  END IF;
  IF p_wait_for IS NOT NULL THEN PERFORM @.hold(g.group_id, ARRAY[p_wait_for]); END IF;
  v_now := @.moment(p_now_ms);
  -- what was settled in transactions of users is closed first: a full group would never be looked at otherwise
  IF EXISTS (SELECT FROM @.settlements t WHERE t.group_id = g.group_id) THEN
    FOR v_partition IN SELECT DISTINCT t.partition FROM @.settlements t WHERE t.group_id = g.group_id ORDER BY 1 LOOP
      PERFORM FROM @.progress WHERE group_id = g.group_id AND partition = v_partition FOR UPDATE SKIP LOCKED;
      IF FOUND THEN PERFORM @.fold(g.group_id, v_partition); END IF;
    END LOOP;
  END IF;
  LOOP
    v_exceptions := EXISTS (SELECT FROM @.exceptions x WHERE x.group_id = g.group_id);
    v_plain := NOT v_exceptions AND g.filter IS NULL AND g.ordering = 'none' AND g.max_attempts > 2;
    IF v_plain THEN
      SELECT * INTO v_inflight, v_plain, v_partitions FROM @.survey_plain(g.group_id, g.stream_id, p_partitions, v_now);
      v_due := false;
      v_alone := false;
    END IF;
    IF NOT v_plain THEN
      WITH looked AS MATERIALIZED (SELECT * FROM @.survey(g.group_id, g.stream_id, v_now, v_exceptions))
      SELECT coalesce(sum(a.inflight), 0), coalesce(bool_or(a.alone), false), coalesce(bool_or(a.wanted AND (a.due OR a.expired)), false),
        array_agg(a.partition ORDER BY a.partition) FILTER (WHERE a.found), array_agg(a.backlog ORDER BY a.partition) FILTER (WHERE a.found),
        array_agg(a.due ORDER BY a.partition) FILTER (WHERE a.found), array_agg(a.expired ORDER BY a.partition) FILTER (WHERE a.found)
      INTO v_inflight, v_alone, v_due, v_partitions, v_backlogs, v_dues, v_expireds
      FROM (
        SELECT b.*, b.wanted AND (b.backlog OR b.due OR b.expired OR (g.ordering <> 'none' AND b.exceptional)) AS found
        FROM (SELECT c.*, p_partitions IS NULL OR c.partition = ANY (p_partitions) AS wanted FROM looked c) b
      ) a;
    END IF;
    v_room := least(p_limit, coalesce(g.max_inflight, 10000::bigint * g.partitions) - v_inflight);
    -- what is counted over all partitions is counted by one at a time
    EXIT WHEN v_held OR v_partitions IS NULL OR v_room <= 0 OR NOT (v_due OR v_alone OR g.max_inflight IS NOT NULL);
    PERFORM FROM @.groups WHERE group_id = g.group_id FOR NO KEY UPDATE;
    v_held := true;
    v_now := @.moment(p_now_ms);
  END LOOP;
  IF v_partitions IS NULL OR v_room <= 0 THEN
    RETURN NEXT @.grant_header(v_answer);
    RETURN;
  END IF;
  v_lease := coalesce(p_lease_ms, g.lease_ms) * interval '1 millisecond';
  v_counts_bytes := v_room * (SELECT max(largest_bytes) FROM @.partitions WHERE stream_id = g.stream_id)::bigint > p_max_bytes;
  p.group_id := g.group_id;
  p.now := v_now;
  p.expires_at := v_now + v_lease;
  p.places := '{}';
  p.grants := '{}';
  IF NOT (v_due OR v_alone OR v_exceptions OR v_counts_bytes) AND g.filter IS NULL AND g.ordering = 'none' AND g.max_attempts > 2 THEN
    -- the happy path: of each partition in turn the next range, known without a look at the events
    v_answer := v_answer || '{"streak": 0}';
    IF cardinality(v_partitions) > 1 THEN
      v_partitions := ARRAY(SELECT c FROM unnest(v_partitions) c ORDER BY c < p_turn % g.partitions, c);
      v_answer := v_answer || jsonb_build_object('turn', (v_partitions[1] + 1) % g.partitions);
    END IF;
    FOREACH v_partition IN ARRAY v_partitions LOOP
      EXIT WHEN v_room <= 0;
      PERFORM FROM @.progress WHERE group_id = g.group_id AND partition = v_partition FOR UPDATE SKIP LOCKED;
      IF NOT FOUND THEN
        p.skipped := v_partition;
        CONTINUE;
      END IF;
      SELECT * INTO h FROM @.head_of(g.group_id, v_partition);
      SELECT e.sequence INTO v_last FROM @.events e WHERE e.stream_id = g.stream_id AND e.partition = v_partition ORDER BY e.sequence DESC LIMIT 1;
      v_last := least(h.cursor + v_room, coalesce(v_last, 0));
      CONTINUE WHEN v_last <= h.cursor;
      INSERT INTO @.leases (group_id, partition, token, first_sequence, last_sequence, open_count, attempt, takeovers, alone, leased_at, expires_at, consumer_id)
      VALUES (g.group_id, v_partition, h.token + 1, h.cursor + 1, v_last, v_last - h.cursor, 1, 0, 0, v_now, p.expires_at, p_consumer_id);
      -- as put_cursor() does
      INSERT INTO @.cursors (group_id, partition, token, cursor, floor) SELECT g.group_id, v_partition, h.token + 1, v_last, l.token FROM @.leases l
      WHERE l.group_id = g.group_id AND l.partition = v_partition AND l.token >= h.floor ORDER BY l.token LIMIT 1;
      DELETE FROM @.cursors c WHERE c.group_id = g.group_id AND c.partition = v_partition AND c.token = h.token;
      p.grants := p.grants || ROW(v_partition, h.token + 1, 1, v_last - h.cursor, int8multirange(int8range(h.cursor + 1, v_last + 1)))::@.granted;
      v_room := v_room - (v_last - h.cursor);
      v_granted := v_granted + (v_last - h.cursor);
    END LOOP;
  ELSE
    IF v_plain THEN
      v_partitions := ARRAY(SELECT c FROM unnest(v_partitions) c ORDER BY c);
      v_backlogs := array_fill(true, ARRAY[cardinality(v_partitions)]);
      v_dues := array_fill(false, ARRAY[cardinality(v_partitions)]);
      v_expireds := v_dues;
    END IF;
    p.stream_id := g.stream_id;
    p.ordering := g.ordering;
    p.run_limit := p_run_limit;
    p.filter := @.filter_sql(g.filter);
    p.max_attempts := g.max_attempts;
    p.consumer_id := p_consumer_id;
    p.lease := v_lease;
    p.room := v_room;
    p.bytes_left := p_max_bytes;
    p.counts_bytes := v_counts_bytes;
    p := @.claim(p, v_partitions, v_backlogs, v_dues, v_expireds, v_alone, p_turn, p_streak, g.partitions);
    v_granted := p.granted;
    v_answer := v_answer || jsonb_build_object('turn', p.turn, 'streak', p.streak, 'more', p.more, 'died', p.died);
  END IF;
  IF v_granted = 0 AND p.skipped IS NOT NULL THEN v_answer := v_answer || jsonb_build_object('skipped', p.skipped); END IF;
  IF v_granted > 0 THEN PERFORM @.touch_member(g.group_id, p_consumer_id, g.lease_ms, v_now); END IF;
  FOREACH v_grant IN ARRAY p.grants LOOP
    v_grants := v_grants || jsonb_build_array(
      jsonb_build_array(v_grant.partition, v_grant.token, v_grant.attempt, v_grant.count, lower(v_grant.sequences)));
  END LOOP;
  RETURN NEXT @.grant_header(v_answer || jsonb_build_object('leasedAt', @.ms(v_now), 'expiresAt', @.ms(p.expires_at), 'grants', v_grants));
  FOREACH v_grant IN ARRAY p.grants LOOP
    v_texts.sequences := NULL;
    IF upper(v_grant.sequences) - lower(v_grant.sequences) = v_grant.count THEN
      SELECT count(*), ${TEXTS} INTO v_rows, v_texts.ids, v_texts.times, v_texts.types, v_texts.keys, v_texts.metadata, v_texts.payloads FROM (
        SELECT * FROM @.events e WHERE e.stream_id = g.stream_id AND e.partition = v_grant.partition
          AND e.sequence >= lower(v_grant.sequences) AND e.sequence < upper(v_grant.sequences) ORDER BY e.sequence
      ) e;
    ELSE
      SELECT count(*), ${TEXTS}, json_agg(e.sequence) INTO v_rows, v_texts.ids, v_texts.times, v_texts.types, v_texts.keys, v_texts.metadata, v_texts.payloads, v_texts.sequences FROM (
        SELECT e.* FROM @.sequences(v_grant.sequences) s CROSS JOIN LATERAL @.event_at(g.stream_id, v_grant.partition, s) e ORDER BY e.sequence
      ) e;
    END IF;
    IF v_rows < v_grant.count THEN
      SELECT coalesce(json_agg(e.sequence ORDER BY e.sequence), '[]') INTO v_texts.sequences FROM @.events e
      WHERE e.stream_id = g.stream_id AND e.partition = v_grant.partition AND e.sequence <@ v_grant.sequences
        AND e.sequence >= lower(v_grant.sequences) AND e.sequence < upper(v_grant.sequences);
      PERFORM @.skip_in_grant(g.group_id, g.stream_id, v_grant);
    END IF;
    RETURN NEXT v_texts;
  END LOOP;
END $$;`;
