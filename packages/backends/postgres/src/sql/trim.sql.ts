/** Removing a prefix of the log (L10). */

/** Events removed by one statement: a short transaction, whose locks nobody waits for long. */
const STEP = 10_000;

/** What a trim of everything up to a sequence takes from a group; the caller holds the partition. */
export const TRIM_PROGRESS = `
CREATE FUNCTION @.trim_progress(p_group_id integer, p_partition integer, p_sequence bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  h @.cursors;
  l @.leases;
  v_gone int8multirange;
  v_lost bigint;
  v_exceptions bigint;
BEGIN
  SELECT * INTO h FROM @.head_of(p_group_id, p_partition);
  v_lost := greatest(0, p_sequence - h.cursor);
  FOR l IN SELECT * FROM @.leases WHERE group_id = p_group_id AND partition = p_partition LOOP
    v_gone := @.open_of(l) * int8multirange(int8range(NULL, p_sequence + 1));
    CONTINUE WHEN isempty(v_gone);
    PERFORM @.keep_open(l, @.open_of(l) - v_gone);
    v_lost := v_lost + @.size_of(v_gone);
  END LOOP;
  WITH gone AS (DELETE FROM @.exceptions WHERE group_id = p_group_id AND partition = p_partition AND sequence <= p_sequence RETURNING 1)
  SELECT count(*) INTO v_exceptions FROM gone;
  v_lost := v_lost + v_exceptions;
  IF v_lost > 0 THEN UPDATE @.progress SET skipped = skipped + v_lost WHERE group_id = p_group_id AND partition = p_partition; END IF;
  IF p_sequence > h.cursor THEN
    UPDATE @.cursors SET cursor = p_sequence WHERE group_id = p_group_id AND partition = p_partition AND token = h.token;
  END IF;
END $$;`;

/**
 * A cut is `{ before }`, `{ beforeMs }` or `{ last }`. Removes a prefix of each partition, or a step of that; with force also what groups
 * have not settled. A dry run counts.
 */
export const TRIM: string = `
CREATE FUNCTION @.trim(p_stream text, p_cut jsonb, p_partitions integer[], p_force boolean, p_dry_run boolean) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_stream_id integer;
  q record;
  v_group integer;
  v_due bigint;
  v_allowed bigint;
  v_last bigint;
  v_removed bigint := 0;
  v_held_back bigint := 0;
  v_more boolean := false;
BEGIN
  SELECT stream_id INTO v_stream_id FROM @.streams WHERE name = p_stream;
  -- who only counts needs no more than to be let look
  IF FOUND AND NOT p_dry_run THEN
    SELECT stream_id INTO v_stream_id FROM @.streams WHERE name = p_stream FOR KEY SHARE;
    FOR v_group IN SELECT group_id FROM @.groups WHERE stream_id = v_stream_id ORDER BY group_id LOOP
      IF p_force THEN PERFORM @.hold_all(v_group, p_partitions); ELSE PERFORM @.hold(v_group, p_partitions); END IF;
    END LOOP;
    PERFORM FROM @.partitions p WHERE p.stream_id = v_stream_id AND (p_partitions IS NULL OR p.partition = ANY (p_partitions)) ORDER BY p.partition FOR UPDATE;
  END IF;
  IF v_stream_id IS NULL THEN RETURN jsonb_build_object('missing', 'stream'); END IF;
  FOR q IN SELECT p.partition, p.first_sequence - 1 AS kept, @.high_watermark(v_stream_id, p.partition) AS high FROM @.partitions p
    WHERE p.stream_id = v_stream_id AND (p_partitions IS NULL OR p.partition = ANY (p_partitions)) ORDER BY p.partition
  LOOP
    v_due := least(q.high, greatest(q.kept, CASE
      WHEN p_cut ? 'before' THEN (p_cut->>'before')::bigint - 1
      WHEN p_cut ? 'beforeMs' THEN @.sequence_at(v_stream_id, q.partition, 'epoch'::timestamptz + (p_cut->>'beforeMs')::bigint * interval '1 millisecond') - 1
      ELSE q.high - (p_cut->>'last')::bigint END));
    v_allowed := v_due;
    IF NOT p_force THEN
      SELECT greatest(q.kept, least(v_due, min(f.frontier))) INTO v_allowed FROM @.frontiers f WHERE f.stream_id = v_stream_id AND f.partition = q.partition;
    END IF;
    v_held_back := v_held_back + v_due - v_allowed;
    v_last := CASE WHEN p_dry_run THEN v_allowed ELSE least(v_allowed, q.kept + ${STEP} - v_removed) END;
    v_removed := v_removed + v_last - q.kept;
    v_more := v_more OR v_last < v_allowed;
    CONTINUE WHEN p_dry_run OR v_last = q.kept;
    IF p_force THEN PERFORM @.trim_progress(g.group_id, q.partition, v_last) FROM @.groups g WHERE g.stream_id = v_stream_id; END IF;
    DELETE FROM @.events WHERE stream_id = v_stream_id AND partition = q.partition AND sequence <= v_last;
    UPDATE @.partitions SET first_sequence = v_last + 1 WHERE stream_id = v_stream_id AND partition = q.partition;
  END LOOP;
  RETURN jsonb_build_object('removed', v_removed, 'heldBack', v_held_back, 'more', v_more, 'stream', v_stream_id);
END $$;`;
