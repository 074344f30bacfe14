/** Making and removing streams and groups. */

/** Cost: a row, and one per partition. */
export const CREATE_STREAM = `
CREATE FUNCTION @.create_stream(p_name text, p_partitions integer, p_now_ms bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_id integer;
  s @.streams;
BEGIN
  SELECT * INTO s FROM @.streams WHERE name = p_name;
  IF NOT FOUND THEN
    INSERT INTO @.streams (name, partitions, created_at) VALUES (p_name, p_partitions, @.moment(p_now_ms)) ON CONFLICT DO NOTHING RETURNING stream_id INTO v_id;
    IF v_id IS NOT NULL THEN INSERT INTO @.partitions (stream_id, partition) SELECT v_id, n FROM generate_series(0, p_partitions - 1) n; END IF;
    SELECT * INTO s FROM @.streams WHERE name = p_name;
  END IF;
  RETURN jsonb_build_object('created', v_id IS NOT NULL, 'id', s.stream_id, 'partitions', s.partitions, 'createdAtMs', @.ms(s.created_at));
END $$;`;

/**
 * A new group's tokens begin above every token of any group deleted before, so that no old lease fits it (F1). The cursors are read in
 * the transaction that makes the group, so nothing appended meanwhile is missed or seen twice (G1).
 */
export const CREATE_GROUP = `
CREATE FUNCTION @.create_group(p_stream text, p_group text, p_options text, p_filter jsonb, p_start jsonb, p_now_ms bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_stream @.streams;
  v_id integer;
  v_floor bigint;
BEGIN
  SELECT * INTO v_stream FROM @.streams WHERE name = p_stream FOR KEY SHARE;
  IF NOT FOUND THEN RETURN jsonb_build_object('missing', 'stream'); END IF;
  IF EXISTS (SELECT FROM @.groups WHERE stream_id = v_stream.stream_id AND name = p_group) THEN RETURN '{"created": false}'; END IF;
  INSERT INTO @.groups (stream_id, name, options, max_attempts, lease_ms, ordering, max_inflight, filter, created_at)
  SELECT v_stream.stream_id, p_group, p_options, o.max_attempts, o.lease_ms, o.ordering, o.max_inflight, p_filter, @.moment(p_now_ms)
  FROM @.columns_of(p_options) o ON CONFLICT DO NOTHING RETURNING group_id INTO v_id;
  IF v_id IS NULL THEN RETURN '{"created": false}'; END IF;
  SELECT value::bigint INTO v_floor FROM @.meta WHERE name = 'token_floor';
  INSERT INTO @.progress (group_id, partition, reset_token, start)
  SELECT v_id, n, coalesce(v_floor, 0), @.start_cursor(v_stream.stream_id, n, p_start) FROM generate_series(0, v_stream.partitions - 1) n;
  INSERT INTO @.cursors (group_id, partition, token, cursor, floor)
  SELECT v_id, p.partition, p.reset_token, p.start, p.reset_token + 1 FROM @.progress p WHERE p.group_id = v_id;
  RETURN jsonb_build_object('created', true, 'stream', v_stream.stream_id);
END $$;`;

/** What the functions need of a group's options. json, not jsonb: a filter may name U+0000. */
export const COLUMNS_OF = `
CREATE FUNCTION @.columns_of(p_options text) RETURNS TABLE (max_attempts integer, lease_ms bigint, ordering text, max_inflight bigint) LANGUAGE sql IMMUTABLE AS $$
  SELECT (o->>'maxAttempts')::integer, (o->>'leaseMs')::bigint, o->>'ordering', (o->>'maxInflight')::bigint FROM (SELECT p_options::json AS o) t
$$;`;

/** Null options or paused: unchanged. */
export const UPDATE_GROUP = `
CREATE FUNCTION @.update_group(p_stream text, p_group text, p_options text, p_filter jsonb, p_paused boolean) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  g record;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.group_id IS NULL THEN RETURN jsonb_build_object('missing', coalesce(@.missing(g.stream_id, g.group_id), 'stream')); END IF;
  IF p_options IS NOT NULL THEN
    UPDATE @.groups t SET options = p_options, filter = p_filter, max_attempts = o.max_attempts, lease_ms = o.lease_ms, ordering = o.ordering, max_inflight = o.max_inflight
    FROM @.columns_of(p_options) o WHERE t.group_id = g.group_id;
  END IF;
  IF p_paused IS NOT NULL THEN UPDATE @.groups SET paused = p_paused WHERE group_id = g.group_id; END IF;
  RETURN jsonb_build_object('stream', g.stream_id);
END $$;`;

/** Removes all records of a group, and keeps in mind the highest token it gave. Waits for whoever is settling in it. */
export const REMOVE_GROUP = `
CREATE FUNCTION @.remove_group(p_group_id integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_highest bigint;
BEGIN
  PERFORM FROM @.groups WHERE group_id = p_group_id FOR UPDATE;
  PERFORM @.hold_all(p_group_id, NULL);
  SELECT coalesce(max(token), 0) INTO v_highest FROM @.cursors WHERE group_id = p_group_id;
  INSERT INTO @.meta (name, value) VALUES ('token_floor', v_highest::text)
  ON CONFLICT (name) DO UPDATE SET value = greatest(meta.value::bigint, v_highest)::text;
  DELETE FROM @.leases WHERE group_id = p_group_id;
  DELETE FROM @.settlements WHERE group_id = p_group_id;
  DELETE FROM @.exceptions WHERE group_id = p_group_id;
  DELETE FROM @.dead_letters WHERE group_id = p_group_id;
  DELETE FROM @.revocations WHERE group_id = p_group_id;
  DELETE FROM @.members WHERE group_id = p_group_id;
  DELETE FROM @.cursors WHERE group_id = p_group_id;
  DELETE FROM @.progress WHERE group_id = p_group_id;
  DELETE FROM @.groups WHERE group_id = p_group_id;
END $$;`;

export const DELETE_GROUP = `
CREATE FUNCTION @.delete_group(p_stream text, p_group text) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  g record;
BEGIN
  SELECT * INTO g FROM @.find_group(p_stream, p_group);
  IF g.stream_id IS NULL THEN RETURN jsonb_build_object('missing', 'stream'); END IF;
  IF g.group_id IS NULL THEN RETURN '{"deleted": false}'; END IF;
  PERFORM @.remove_group(g.group_id);
  RETURN jsonb_build_object('deleted', true, 'stream', g.stream_id);
END $$;`;

/** Appenders who wait for a partition find it gone. Cost: everything in the stream. */
export const DELETE_STREAM = `
CREATE FUNCTION @.delete_stream(p_stream text) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_id integer;
  v_group integer;
BEGIN
  SELECT stream_id INTO v_id FROM @.streams WHERE name = p_stream FOR UPDATE;
  IF NOT FOUND THEN RETURN '{"deleted": false}'; END IF;
  PERFORM FROM @.partitions WHERE stream_id = v_id ORDER BY partition FOR UPDATE;
  FOR v_group IN SELECT group_id FROM @.groups WHERE stream_id = v_id ORDER BY group_id LOOP
    PERFORM @.remove_group(v_group);
  END LOOP;
  DELETE FROM @.events WHERE stream_id = v_id;
  DELETE FROM @.partitions WHERE stream_id = v_id;
  DELETE FROM @.streams WHERE stream_id = v_id;
  RETURN jsonb_build_object('deleted', true, 'stream', v_id);
END $$;`;
