/** Writes that several operations share: what is in `writes` and `records` of the arithmetic in core. */

/** Puts what is left of a lease in its place. Cost: one row. */
export const KEEP_OPEN = `
CREATE FUNCTION @.keep_open(l @.leases, p_open int8multirange) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF isempty(p_open) THEN
    DELETE FROM @.leases WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence;
  ELSE
    UPDATE @.leases SET open_set = p_open, open_count = @.size_of(p_open)
    WHERE group_id = l.group_id AND partition = l.partition AND token = l.token AND first_sequence = l.first_sequence;
  END IF;
END $$;`;

/**
 * Closes in their leases what was settled in transactions that have committed. The caller holds the partition. The rows of leases
 * are updated without touching their keys, which no open transaction of a user's is in the way of.
 */
export const FOLD = `
CREATE FUNCTION @.fold(p_group_id integer, p_partition integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_token bigint;
  v_closed int8multirange;
BEGIN
  FOR v_token, v_closed IN
    WITH gone AS (DELETE FROM @.settlements WHERE group_id = p_group_id AND partition = p_partition RETURNING token, sequence)
    SELECT token, range_agg(int8range(sequence, sequence + 1)) FROM gone GROUP BY token ORDER BY token
  LOOP
    UPDATE @.leases l SET open_set = @.open_of(l) - v_closed, open_count = @.size_of(@.open_of(l) - v_closed)
    WHERE group_id = p_group_id AND partition = p_partition AND token = v_token AND @.open_of(l) && v_closed;
    DELETE FROM @.leases WHERE group_id = p_group_id AND partition = p_partition AND token = v_token AND open_count = 0;
  END LOOP;
END $$;`;

/** Takes the lock of each partition, in their order, and folds. Null: all partitions of the group. */
export const HOLD = `
CREATE FUNCTION @.hold(p_group_id integer, p_partitions integer[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_partition integer;
BEGIN
  PERFORM FROM @.progress WHERE group_id = p_group_id AND (p_partitions IS NULL OR partition = ANY (p_partitions)) ORDER BY partition FOR UPDATE;
  IF EXISTS (SELECT FROM @.settlements WHERE group_id = p_group_id) THEN
    FOR v_partition IN
      SELECT DISTINCT partition FROM @.settlements WHERE group_id = p_group_id AND (p_partitions IS NULL OR partition = ANY (p_partitions))
    LOOP
      PERFORM @.fold(p_group_id, v_partition);
    END LOOP;
  END IF;
END $$;`;

/**
 * The same, and waits for transactions of users that are settling there, so that everything can be taken from them. In order, so
 * that two who wait do not wait for each other.
 */
export const HOLD_ALL = `
CREATE FUNCTION @.hold_all(p_group_id integer, p_partitions integer[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM @.hold(p_group_id, p_partitions);
  PERFORM FROM @.leases WHERE group_id = p_group_id AND (p_partitions IS NULL OR partition = ANY (p_partitions)) ORDER BY partition, token, first_sequence FOR UPDATE;
  PERFORM FROM @.exceptions WHERE group_id = p_group_id AND (p_partitions IS NULL OR partition = ANY (p_partitions)) AND state = 'leased'
    ORDER BY partition, sequence FOR UPDATE;
  PERFORM @.hold(p_group_id, p_partitions);
END $$;`;

/** Remembers that deliveries were taken from the holder of a token, and drops the lowest tokens beyond 256. */
export const REVOKE = `
CREATE FUNCTION @.revoke(p_group_id integer, p_partition integer, p_token bigint, p_sequences int8multirange, p_why text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO @.revocations (group_id, partition, token, sequences, why) VALUES (p_group_id, p_partition, p_token, p_sequences, p_why);
  DELETE FROM @.revocations WHERE revocation_id IN (
    SELECT revocation_id FROM @.revocations WHERE group_id = p_group_id AND partition = p_partition
    ORDER BY token DESC, revocation_id DESC OFFSET 256
  );
$$;`;

/** Writes a dead letter for a delivery whose open record the caller has removed. */
export const BURY = `
CREATE FUNCTION @.bury(
  p_group_id integer, p_stream_id integer, p_partition integer, p_sequence bigint, p_attempts integer, p_reason text, p_stack text, p_consumer_id text,
  p_first_failed_at timestamptz, p_dead_at timestamptz
) RETURNS void LANGUAGE sql AS $$
  INSERT INTO @.dead_letters (group_id, partition, sequence, attempts, first_failed_at, dead_at, event_id, consumer_id, reason, stack)
  VALUES (p_group_id, p_partition, p_sequence, p_attempts, p_first_failed_at, p_dead_at,
    coalesce((SELECT id FROM @.events WHERE stream_id = p_stream_id AND partition = p_partition AND sequence = p_sequence), ''), p_consumer_id, p_reason, p_stack)
  ON CONFLICT (group_id, partition, sequence) DO UPDATE SET attempts = excluded.attempts, first_failed_at = excluded.first_failed_at,
    dead_at = excluded.dead_at, event_id = excluded.event_id, consumer_id = excluded.consumer_id, reason = excluded.reason, stack = excluded.stack;
$$;`;

/** Opens deliveries again with attempt 0, whatever they were. The caller has removed their leases. */
export const REOPEN = `
CREATE FUNCTION @.reopen(p_group_id integer, p_stream_id integer, p_ordering text, p_partition integer, p_sequences int8multirange) RETURNS void LANGUAGE sql AS $$
  DELETE FROM @.exceptions WHERE group_id = p_group_id AND partition = p_partition AND sequence = ANY (ARRAY(SELECT @.sequences(p_sequences)));
  INSERT INTO @.exceptions (group_id, partition, sequence, token, attempt, takeovers, state, alone, leased_at, due_at, key)
  SELECT p_group_id, p_partition, e.sequence, 0, 0, 0, 'pending', 0, 'epoch', 'epoch', CASE WHEN p_ordering = 'key' THEN e.key END
  FROM @.sequences(p_sequences) s CROSS JOIN LATERAL @.event_at(p_stream_id, p_partition, s) e;
$$;`;

/** Notes that a member was here, at most once a second. New names come with restarts, so that is when old ones are cleared away. */
export const TOUCH_MEMBER = `
CREATE FUNCTION @.touch_member(p_group_id integer, p_consumer_id text, p_lease_ms bigint, p_now timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_seen timestamptz;
BEGIN
  SELECT last_seen_at INTO v_seen FROM @.members WHERE group_id = p_group_id AND consumer_id = p_consumer_id;
  IF v_seen IS NOT NULL AND v_seen <= p_now AND v_seen > p_now - interval '1 second' THEN RETURN; END IF;
  IF v_seen IS NULL THEN
    DELETE FROM @.members m WHERE group_id = p_group_id
      AND last_seen_at < p_now - greatest(interval '1 day', 2 * p_lease_ms * interval '1 millisecond')
      AND NOT EXISTS (SELECT FROM @.leases l WHERE l.group_id = p_group_id AND l.consumer_id = m.consumer_id)
      AND NOT EXISTS (SELECT FROM @.exceptions x WHERE x.group_id = p_group_id AND x.state = 'leased' AND x.consumer_id = m.consumer_id);
  END IF;
  INSERT INTO @.members (group_id, consumer_id, last_seen_at) VALUES (p_group_id, p_consumer_id, p_now)
  ON CONFLICT (group_id, consumer_id) DO UPDATE SET last_seen_at = excluded.last_seen_at;
END $$;`;
