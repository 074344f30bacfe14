/**
 * Appending (L1, L4–L6). Requests arrive by stream, as one jsonb: `[{ s: stream, n: its partitions, p: [those written to], b: [the
 * largest event of each], x: whether any event expects a sequence, t: whether any has a timestamp, i: [position of each request], c: [its
 * number of events], e: [all their events] }, …]`, with events as `[partition, id, timestamp in ms or null, type, key, bytes, expected sequence
 * or null, metadata, payload, place among those of its partition from 1]`. So content is parsed once, and nothing large is sorted or joined.
 */

/** Notes the largest events of partitions, where they are larger than any before: rarely. */
export const NOTE_LARGEST = `
CREATE FUNCTION @.note_largest(p_stream_id integer, p_partitions integer[], p_bytes integer[]) RETURNS void LANGUAGE sql AS $$
  UPDATE @.partitions q SET largest_bytes = n.bytes FROM unnest(p_partitions, p_bytes) AS n (partition, bytes)
  WHERE q.stream_id = p_stream_id AND q.partition = n.partition AND q.largest_bytes < n.bytes;
$$;`;

/**
 * All events of the requests for one stream, in one insert, in the hope that no id is there already. False when one is; nothing is written
 * then. Ids are not looked up first: the unique index refuses one that is there, and the savepoint costs less than the look-ups. `p_highs`
 * and `p_latests` say where the partitions stand. Cost: one row and two index entries per event.
 */
export const APPEND_HOPEFULLY = `
CREATE FUNCTION @.append_hopefully(
  p_stream_id integer, p_events jsonb, p_timed boolean, p_partitions integer[], p_highs bigint[], p_latests timestamptz[], p_now timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_constraint text;
BEGIN
  IF NOT p_timed THEN
    INSERT INTO @.events (stream_id, partition, sequence, timestamp, latest, bytes, id, type, key, metadata, payload)
    SELECT p_stream_id, h.partition, h.high + (e->>9)::bigint, p_now, greatest(h.latest, p_now), (e->>5)::integer, e->>1, e->>3, e->>4, e->7, e->8
    FROM jsonb_array_elements(p_events) e JOIN unnest(p_partitions, p_highs, p_latests) AS h (partition, high, latest) ON h.partition = (e->>0)::integer;
  ELSE
    INSERT INTO @.events (stream_id, partition, sequence, timestamp, latest, bytes, id, type, key, metadata, payload)
    SELECT p_stream_id, n.partition, n.high + n.place, n.at, greatest(n.latest, max(n.at) OVER (PARTITION BY n.partition ORDER BY n.place)),
      (n.e->>5)::integer, n.e->>1, n.e->>3, n.e->>4, n.e->7, n.e->8
    FROM (
      SELECT e, h.*, (e->>9)::bigint AS place, coalesce('epoch'::timestamptz + (e->>2)::bigint * interval '1 millisecond', p_now) AS at
      FROM jsonb_array_elements(p_events) e JOIN unnest(p_partitions, p_highs, p_latests) AS h (partition, high, latest) ON h.partition = (e->>0)::integer
    ) n;
  END IF;
  RETURN true;
EXCEPTION WHEN unique_violation THEN
  GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
  -- the partition is locked, so only the snapshot of an older transaction can have hidden the sequence
  IF v_constraint = 'events_in_order' THEN
    RAISE EXCEPTION 'could not serialize access: events were appended since this transaction began' USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN false;
END $$;`;

/** A stored event as its answer. */
export const STORED = `
CREATE FUNCTION @.stored(e @.events) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('id', e.id, 'partition', e.partition, 'sequence', e.sequence, 'timestampMs', @.ms(e.timestamp), 'type', e.type, 'key', e.key,
    'metadata', e.metadata::text, 'payload', e.payload::text)
$$;`;

/**
 * One request, event by event: the stored event of an id is answered before anything else is looked at. Writes all of it or nothing.
 */
export const APPEND_ONE = `
CREATE FUNCTION @.append_one(p_stream_id integer, p_events jsonb, p_from integer, p_count integer, p_now timestamptz) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_event jsonb;
  v_index integer;
  v_partition integer;
  v_stored @.events;
  v_high bigint;
  v_latest timestamptz;
  v_at timestamptz;
  v_answers jsonb[] := '{}';
  v_refusal jsonb;
  v_constraint text;
BEGIN
  FOR i IN p_from .. p_from + p_count - 1 LOOP
    v_event := p_events->i;
    v_index := i - p_from;
    v_partition := (v_event->>0)::integer;
    SELECT * INTO v_stored FROM @.events WHERE stream_id = p_stream_id AND id = v_event->>1;
    IF FOUND THEN
      IF v_stored.type IS DISTINCT FROM v_event->>3 OR v_stored.key IS DISTINCT FROM v_event->>4
        OR v_stored.metadata <> v_event->7 OR v_stored.payload <> v_event->8 THEN
        v_refusal := jsonb_build_object('kind', 'id_conflict', 'index', v_index, 'stored', @.stored(v_stored));
        RAISE EXCEPTION USING ERRCODE = 'RH001';
      END IF;
      v_answers := v_answers || jsonb_build_object('sequence', v_stored.sequence, 'timestampMs', @.ms(v_stored.timestamp), 'duplicate', @.stored(v_stored));
      CONTINUE;
    END IF;
    v_high := @.high_watermark(p_stream_id, v_partition);
    IF (v_event->>6)::bigint <> v_high THEN
      v_refusal := jsonb_build_object('kind', 'sequence_conflict', 'index', v_index, 'highWatermark', v_high);
      RAISE EXCEPTION USING ERRCODE = 'RH001';
    END IF;
    v_at := coalesce('epoch'::timestamptz + (v_event->>2)::bigint * interval '1 millisecond', p_now);
    SELECT latest INTO v_latest FROM @.events WHERE stream_id = p_stream_id AND partition = v_partition AND sequence = v_high;
    INSERT INTO @.events (stream_id, partition, sequence, timestamp, latest, bytes, id, type, key, metadata, payload)
    VALUES (p_stream_id, v_partition, v_high + 1, v_at, greatest(v_latest, v_at), (v_event->>5)::integer, v_event->>1, v_event->>3, v_event->>4, v_event->7, v_event->8);
    PERFORM @.note_largest(p_stream_id, ARRAY[v_partition], ARRAY[(v_event->>5)::integer]);
    v_answers := v_answers || jsonb_build_object('sequence', v_high + 1, 'timestampMs', @.ms(v_at), 'duplicate', NULL);
  END LOOP;
  RETURN jsonb_build_object('kind', 'appended', 'events', to_jsonb(v_answers));
EXCEPTION
  WHEN SQLSTATE 'RH001' THEN RETURN v_refusal;
  WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
    IF v_constraint = 'events_in_order' THEN
      RAISE EXCEPTION 'could not serialize access: events were appended since this transaction began' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NULL;  -- the id was appended to another partition in this very moment: look again
END $$;`;

/**
 * Appends a batch of requests, each atomic by itself. The partitions are locked, in order, until the transaction ends: so commit order is
 * sequence order. For streams whose requests went in at once the answer has the high watermarks before, by partition; for the others an
 * answer per request, by its position.
 */
export const APPEND = `
CREATE FUNCTION @.append(p_requests jsonb, p_now_ms bigint) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now timestamptz;
  v_ids integer[] := '{}';
  v_partitions integer[] := '{}';
  v_streams jsonb := '{}';
  v_heads jsonb := '{}';
  v_written integer[];
  v_found integer[];
  v_highs bigint[];
  v_latests timestamptz[];
  v_answers jsonb := '{}';
  v_answer jsonb;
  v_events jsonb;
  v_from integer;
  v_count integer;
  r jsonb;
  s @.streams;
BEGIN
  FOR r IN SELECT value FROM jsonb_array_elements(p_requests) LOOP
    SELECT * INTO s FROM @.streams WHERE name = r->>'s';
    IF FOUND THEN
      v_partitions := v_partitions || ARRAY(SELECT jsonb_array_elements_text(r->'p')::integer);
      v_ids := v_ids || array_fill(s.stream_id, ARRAY[jsonb_array_length(r->'p')]);
    END IF;
  END LOOP;
  PERFORM FROM @.partitions q WHERE (q.stream_id, q.partition) IN (SELECT * FROM unnest(v_ids, v_partitions)) ORDER BY q.stream_id, q.partition FOR UPDATE;
  v_now := @.moment(p_now_ms);
  FOR r IN SELECT value FROM jsonb_array_elements(p_requests) LOOP
    SELECT * INTO s FROM @.streams WHERE name = r->>'s';
    IF NOT FOUND THEN v_answer := jsonb_build_object('kind', 'stream_not_found');
    ELSIF s.partitions <> (r->>'n')::integer THEN v_answer := jsonb_build_object('kind', 'rerouted', 'partitions', s.partitions);
    ELSE
      v_answer := NULL;
      v_streams := v_streams || jsonb_build_object(s.name, s.stream_id);
      v_events := r->'e';
      v_written := ARRAY(SELECT jsonb_array_elements_text(r->'p')::integer);
      SELECT array_agg(q.partition), array_agg(greatest(q.first_sequence - 1, coalesce(l.sequence, 0))), array_agg(l.latest) INTO v_found, v_highs, v_latests
      FROM @.partitions q LEFT JOIN LATERAL (
        SELECT e.sequence, e.latest FROM @.events e WHERE e.stream_id = q.stream_id AND e.partition = q.partition ORDER BY e.sequence DESC LIMIT 1
      ) l ON true WHERE q.stream_id = s.stream_id AND q.partition = ANY (v_written);
      IF NOT (r->>'x')::boolean AND @.append_hopefully(s.stream_id, v_events, (r->>'t')::boolean, v_found, v_highs, v_latests, v_now) THEN
        PERFORM @.note_largest(s.stream_id, v_written, ARRAY(SELECT jsonb_array_elements_text(r->'b')::integer));
        v_heads := v_heads || jsonb_build_object(s.name, coalesce(jsonb_object(v_found::text[], v_highs::text[]), '{}'));
        CONTINUE;
      END IF;
    END IF;
    v_from := 0;
    FOR k IN 0 .. jsonb_array_length(r->'i') - 1 LOOP
      v_count := (r->'c'->>k)::integer;
      v_answers := v_answers || jsonb_build_object(r->'i'->>k,
        coalesce(v_answer, @.append_one(s.stream_id, v_events, v_from, v_count, v_now), @.append_one(s.stream_id, v_events, v_from, v_count, v_now)));
      IF v_answers->(r->'i'->>k) = 'null' THEN
        RAISE EXCEPTION 'could not serialize access: an event of this id was appended since this transaction began' USING ERRCODE = 'serialization_failure';
      END IF;
      v_from := v_from + v_count;
    END LOOP;
  END LOOP;
  RETURN jsonb_build_object('now', @.ms(v_now), 'heads', v_heads, 'answers', v_answers, 'streams', v_streams, 'transaction', pg_current_xact_id_if_assigned()::text)::text;
END $$;`;
