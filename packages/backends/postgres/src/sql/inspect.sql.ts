/** Looking at progress: the twin of `inspect` in core's progress. Nothing here writes (P4). Each answers `{ missing }` where the stream or group is not there. */

/** Where one delivery stands, as the port's DeliveryState. Cost: the leases of the partition. */
export const STATE_OF = `
CREATE FUNCTION @.state_of(p_group_id integer, p_partition integer, p_sequence bigint, p_now timestamptz) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
  l record;
  x @.exceptions;
  d @.dead_letters;
BEGIN
  SELECT * INTO l FROM @.open_leases o WHERE o.group_id = p_group_id AND o.partition = p_partition AND o.open_set @> p_sequence
    AND o.token >= (SELECT floor FROM @.head_of(p_group_id, p_partition)) LIMIT 1;
  IF FOUND THEN
    RETURN jsonb_build_object('state', CASE WHEN l.expires_at > p_now THEN 'leased' ELSE 'expired' END, 'attempt', l.attempt, 'token', l.token,
      'consumerId', l.consumer_id, 'leasedAtMs', @.ms(l.leased_at), 'expiresAtMs', @.ms(l.expires_at), 'lastError', NULL);
  END IF;
  SELECT * INTO x FROM @.exceptions WHERE group_id = p_group_id AND partition = p_partition AND sequence = p_sequence;
  IF FOUND THEN
    RETURN CASE x.state
      WHEN 'leased' THEN jsonb_build_object('state', CASE WHEN x.due_at > p_now THEN 'leased' ELSE 'expired' END, 'attempt', x.attempt, 'token', x.token,
        'consumerId', coalesce(x.consumer_id, ''), 'leasedAtMs', @.ms(x.leased_at), 'expiresAtMs', @.ms(x.due_at), 'lastError', x.reason)
      WHEN 'retrying' THEN jsonb_build_object('state', 'retrying', 'attempt', x.attempt, 'dueAtMs', @.ms(x.due_at), 'failedAtMs', @.ms(x.failed_at), 'lastError', x.reason)
      WHEN 'pending' THEN jsonb_build_object('state', 'pending', 'attempt', x.attempt, 'lastError', x.reason)
      ELSE '{"state": "parked"}' END;
  END IF;
  SELECT * INTO d FROM @.dead_letters WHERE group_id = p_group_id AND partition = p_partition AND sequence = p_sequence;
  IF FOUND THEN RETURN jsonb_build_object('state', 'dead', 'attempt', d.attempts, 'deadAtMs', @.ms(d.dead_at), 'lastError', d.reason); END IF;
  RETURN CASE WHEN p_sequence > (SELECT cursor FROM @.head_of(p_group_id, p_partition)) THEN '{"state": "undelivered"}' ELSE '{"state": "settled"}' END::jsonb;
END $$;`;

export const PROGRESS_OF = `
CREATE FUNCTION @.progress_of(p_stream text, p_group text) RETURNS jsonb LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  RETURN jsonb_build_object('partitions', g.partitions, 'progress', (SELECT coalesce(jsonb_agg(jsonb_build_object('partition', f.partition, 'firstSequence', f.first_sequence,
    'highWatermark', f.high_watermark, 'frontier', f.frontier, 'skipped', f.skipped, 'cursor', f.cursor) ORDER BY f.partition), '[]') FROM @.frontiers f WHERE f.group_id = g.group_id));
END $$;`;

export const STATS_OF = `
CREATE FUNCTION @.stats_of(p_stream text, p_group text, p_now_ms bigint) RETURNS jsonb LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
  v_now timestamptz := @.moment(p_now_ms);
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  RETURN (
    WITH held AS (
      SELECT consumer_id, sum(n)::bigint AS n FROM (
        SELECT l.consumer_id, @.size_of(l.open_set) AS n FROM @.open_leases l WHERE l.group_id = g.group_id AND l.expires_at > v_now
        UNION ALL
        SELECT coalesce(x.consumer_id, ''), 1 FROM @.exceptions x WHERE x.group_id = g.group_id AND x.state = 'leased' AND x.due_at > v_now
      ) h WHERE n > 0 GROUP BY consumer_id
    )
    SELECT jsonb_build_object(
      'inflight', (SELECT coalesce(sum(n), 0) FROM held),
      'retrying', (SELECT count(*) FROM @.exceptions x WHERE x.group_id = g.group_id AND x.state = 'retrying'),
      'deadLetters', (SELECT count(*) FROM @.dead_letters d WHERE d.group_id = g.group_id),
      'oldestUnsettledAtMs', (SELECT @.ms(min(e.timestamp)) FROM @.frontiers f
        JOIN @.events e ON e.stream_id = f.stream_id AND e.partition = f.partition AND e.sequence = f.frontier + 1 WHERE f.group_id = g.group_id),
      'members', (SELECT coalesce(jsonb_agg(jsonb_build_object('consumerId', m.consumer_id, 'lastSeenAtMs', @.ms(m.last_seen_at), 'leases', coalesce(held.n, 0))
          ORDER BY m.consumer_id), '[]')
        FROM @.members m LEFT JOIN held USING (consumer_id)
        WHERE m.group_id = g.group_id AND (held.n IS NOT NULL OR m.last_seen_at > v_now - 2 * g.lease_ms * interval '1 millisecond'))));
END $$;`;

export const HOLDERS_OF = `
CREATE FUNCTION @.holders_of(p_stream text, p_group text, p_now_ms bigint) RETURNS jsonb LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
  v_now timestamptz := @.moment(p_now_ms);
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  RETURN jsonb_build_object('holders', (SELECT coalesce(jsonb_agg(jsonb_build_object('partition', f.partition, 'sequence', f.frontier + 1,
    'highWatermark', f.high_watermark, 'delivery', @.state_of(g.group_id, f.partition, f.frontier + 1, v_now)) ORDER BY f.partition), '[]')
    FROM @.frontiers f WHERE f.group_id = g.group_id AND f.frontier < f.high_watermark));
END $$;`;

/** Leases not yet settled, by (partition, sequence), and with a place also where one delivery stands. */
export const LEASES_OF = `
CREATE FUNCTION @.leases_of(p_stream text, p_group text, p_limit integer) RETURNS jsonb LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  RETURN jsonb_build_object('leases', (SELECT coalesce(jsonb_agg(jsonb_build_object('partition', a.partition, 'sequence', a.sequence, 'token', a.token,
    'attempt', a.attempt, 'consumerId', a.consumer_id, 'leasedAtMs', @.ms(a.leased_at), 'expiresAtMs', @.ms(a.expires_at)) ORDER BY a.partition, a.sequence), '[]')
    FROM (
      SELECT * FROM (
        SELECT l.partition, s AS sequence, l.token, l.attempt, l.consumer_id, l.leased_at, l.expires_at
        FROM @.open_leases l CROSS JOIN LATERAL @.sequences(
          CASE WHEN coalesce(upper(l.open_set) - lower(l.open_set), 0) < 1048577 THEN l.open_set ELSE @.refuse_lease(l.partition, l.token, l.open_set) END
        ) s WHERE l.group_id = g.group_id
        UNION ALL
        SELECT x.partition, x.sequence, x.token, x.attempt, coalesce(x.consumer_id, ''), x.leased_at, x.due_at
        FROM @.exceptions x WHERE x.group_id = g.group_id AND x.state = 'leased'
      ) b ORDER BY partition, sequence LIMIT p_limit
    ) a));
END $$;`;

/** A page of dead letters by (partition, sequence), with their events as far as they are retained. Cost: the page; with a filter, what it passes over. */
export const DEAD_LETTERS_OF = `
CREATE FUNCTION @.dead_letters_of(p_stream text, p_group text, p_limit integer, p_after text, p_program jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
  v_partition integer := 0;
  v_sequence bigint := 0;
  v_letters jsonb;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  IF p_after IS NOT NULL THEN
    SELECT a.partition, a.sequence INTO v_partition, v_sequence FROM (
      SELECT e.partition, e.sequence FROM @.events e WHERE e.stream_id = g.stream_id AND e.id = p_after
      UNION ALL SELECT d.partition, d.sequence FROM @.dead_letters d WHERE d.group_id = g.group_id AND d.event_id = p_after
    ) a LIMIT 1;
    IF v_partition IS NULL THEN RETURN '{"cursor": "missing"}'; END IF;
  END IF;
  EXECUTE format('SELECT coalesce(jsonb_agg(a.letter ORDER BY a.partition, a.sequence), ''[]'') FROM (
    SELECT d.partition, d.sequence, jsonb_build_object(''eventId'', d.event_id, ''partition'', d.partition, ''sequence'', d.sequence, ''attempts'', d.attempts,
      ''reason'', d.reason, ''stack'', d.stack, ''consumerId'', d.consumer_id, ''firstFailedAtMs'', @.ms(d.first_failed_at), ''deadAtMs'', @.ms(d.dead_at),
      ''event'', CASE WHEN e.id IS NOT NULL THEN @.stored(e) END) AS letter
    FROM @.dead_letters d LEFT JOIN @.events e ON e.stream_id = $2 AND e.partition = d.partition AND e.sequence = d.sequence
    WHERE d.group_id = $1 AND (d.partition, d.sequence) > ($3, $4) AND %s ORDER BY d.partition, d.sequence LIMIT $5) a',
    CASE WHEN p_program IS NULL THEN 'true' ELSE '(e.id IS NOT NULL AND ' || @.filter_sql(p_program) || ')' END)
  INTO v_letters USING g.group_id, g.stream_id, v_partition, v_sequence, p_limit;
  RETURN jsonb_build_object('letters', v_letters);
END $$;`;

export const DELIVERY_OF = `
CREATE FUNCTION @.delivery_of(p_stream text, p_group text, p_partition integer, p_sequence bigint, p_now_ms bigint) RETURNS jsonb LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  RETURN @.state_of(g.group_id, p_partition, p_sequence, @.moment(p_now_ms));
END $$;`;
