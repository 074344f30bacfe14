/**
 * Appending (L1, L4–L6). All requests arrive at once, as columns: so each value is parsed once, as what it is, and nothing large is sorted.
 * - of streams: `p_names`, `p_counts` (their partitions, as the events were routed), `p_expects` (whether any event expects a sequence)
 * - of slots, which are the partitions written to: `p_owners` (stream, from 1), `p_partitions`, `p_largest` (bytes of the largest event)
 * - of requests: `p_askers` (stream, from 1), `p_sizes` (number of events)
 * - of events, in order: `p_slots` (from 1), `p_places` (place among those of the slot, from 1), `p_bytes`, `p_ids`, `p_types`, `p_keys`, `p_times` (ms),
 *   `p_expected`, `p_metadata`, `p_payloads`. A column of nulls is null; no metadata at all is null. Each payload is parsed by itself: all of them as
 *   one document would take twice as long.
 * With `p_channel` others are told of it by the same commit, in the name of `p_sender`.
 */

/** Streams named in one notification, whose payload has at most 8,000 bytes. */
export const IDS_SENT = 500;

/** Partitions that stand above are written to event by event, each of which is looked at: more below the last sequence than one write holds. */
const NEAR_THE_END = Number.MAX_SAFE_INTEGER - 100_000;

/** Notes the largest events of slots, where they are larger than any before: rarely. */
export const NOTE_LARGEST = `
CREATE FUNCTION @.note_largest(p_stream_ids integer[], p_partitions integer[], p_bytes integer[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE @.partitions q SET largest_bytes = n.bytes FROM unnest(p_stream_ids, p_partitions, p_bytes) AS n (stream_id, partition, bytes)
  WHERE q.stream_id = n.stream_id AND q.partition = n.partition AND q.largest_bytes < n.bytes;
END $$;`;

/**
 * All events of the slots in `p_hopeful`, in one insert, in the hope that no id is there already. False when one is; nothing is written then.
 * Ids are not looked up first: the unique index refuses one that is there, and the savepoint costs less than the look-ups. `p_highs` and
 * `p_latests` say where the partitions of these slots stand. Cost: one row and two index entries per event.
 */
export const APPEND_HOPEFULLY: string = `
CREATE FUNCTION @.append_hopefully(
  p_hopeful integer[], p_stream_ids integer[], p_partitions integer[], p_highs bigint[], p_latests timestamptz[], p_slots integer[], p_places integer[],
  p_bytes integer[], p_ids text[], p_types text[], p_keys text[], p_times bigint[], p_metadata text[], p_payloads text[], p_now timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_constraint text;
BEGIN
  IF ${NEAR_THE_END} < ANY (p_highs) THEN RETURN false; END IF;
  IF p_times IS NULL THEN
    INSERT INTO @.events (stream_id, partition, sequence, timestamp, latest, bytes, id, type, key, metadata, payload)
    SELECT h.stream_id, h.partition, h.high + e.place, p_now, greatest(h.latest, p_now), e.bytes, e.id, e.type, e.key, coalesce(e.metadata::jsonb, '{}'), e.payload::jsonb
    FROM ROWS FROM (
      unnest(p_slots), unnest(p_places), unnest(p_bytes), unnest(p_ids), unnest(p_types), unnest(p_keys), unnest(p_metadata), unnest(p_payloads)
    ) AS e (slot, place, bytes, id, type, key, metadata, payload)
    JOIN unnest(p_hopeful, p_stream_ids, p_partitions, p_highs, p_latests) AS h (slot, stream_id, partition, high, latest) ON h.slot = e.slot;
  ELSE
    INSERT INTO @.events (stream_id, partition, sequence, timestamp, latest, bytes, id, type, key, metadata, payload)
    SELECT n.stream_id, n.partition, n.high + n.place, n.at, greatest(n.latest, max(n.at) OVER (PARTITION BY n.slot ORDER BY n.place)),
      n.bytes, n.id, n.type, n.key, coalesce(n.metadata::jsonb, '{}'), n.payload::jsonb
    FROM (
      SELECT h.stream_id, h.partition, h.high, h.latest, e.*, coalesce('epoch'::timestamptz + e.time * interval '1 millisecond', p_now) AS at
      FROM ROWS FROM (
        unnest(p_slots), unnest(p_places), unnest(p_bytes), unnest(p_ids), unnest(p_types), unnest(p_keys), unnest(p_times), unnest(p_metadata),
        unnest(p_payloads)
      ) AS e (slot, place, bytes, id, type, key, time, metadata, payload)
      JOIN unnest(p_hopeful, p_stream_ids, p_partitions, p_highs, p_latests) AS h (slot, stream_id, partition, high, latest) ON h.slot = e.slot
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
 * Its events are those at p_from … p_from + p_count − 1.
 */
export const APPEND_ONE: string = `
CREATE FUNCTION @.append_one(
  p_stream_id integer, p_from integer, p_count integer, p_partitions integer[], p_slots integer[], p_bytes integer[], p_ids text[], p_types text[],
  p_keys text[], p_times bigint[], p_expected bigint[], p_metadata text[], p_payloads text[], p_now timestamptz
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_partition integer;
  v_metadata jsonb;
  v_payload jsonb;
  v_stored @.events;
  v_high bigint;
  v_latest timestamptz;
  v_at timestamptz;
  v_answers jsonb[] := '{}';
  v_refusal jsonb;
  v_constraint text;
BEGIN
  FOR i IN p_from .. p_from + p_count - 1 LOOP
    v_metadata := coalesce(p_metadata[i]::jsonb, '{}');
    v_payload := p_payloads[i]::jsonb;
    SELECT * INTO v_stored FROM @.events WHERE stream_id = p_stream_id AND id = p_ids[i];
    IF FOUND THEN
      IF v_stored.type IS DISTINCT FROM p_types[i] OR v_stored.key IS DISTINCT FROM p_keys[i]
        OR v_stored.metadata <> v_metadata OR v_stored.payload <> v_payload THEN
        v_refusal := jsonb_build_object('kind', 'id_conflict', 'index', i - p_from, 'stored', @.stored(v_stored));
        RAISE EXCEPTION USING ERRCODE = 'RH001';
      END IF;
      v_answers := v_answers || jsonb_build_object('sequence', v_stored.sequence, 'timestampMs', @.ms(v_stored.timestamp), 'duplicate', @.stored(v_stored));
      CONTINUE;
    END IF;
    v_partition := p_partitions[p_slots[i]];
    v_high := @.high_watermark(p_stream_id, v_partition);
    IF p_expected[i] <> v_high THEN
      v_refusal := jsonb_build_object('kind', 'sequence_conflict', 'index', i - p_from, 'highWatermark', v_high);
      RAISE EXCEPTION USING ERRCODE = 'RH001';
    END IF;
    IF v_high >= ${Number.MAX_SAFE_INTEGER} THEN
      RAISE EXCEPTION 'partition % has used up its sequences, the last is %: append to another partition or stream', v_partition, v_high
        USING ERRCODE = 'program_limit_exceeded';
    END IF;
    v_at := coalesce('epoch'::timestamptz + p_times[i] * interval '1 millisecond', p_now);
    SELECT latest INTO v_latest FROM @.events WHERE stream_id = p_stream_id AND partition = v_partition AND sequence = v_high;
    INSERT INTO @.events (stream_id, partition, sequence, timestamp, latest, bytes, id, type, key, metadata, payload)
    VALUES (p_stream_id, v_partition, v_high + 1, v_at, greatest(v_latest, v_at), p_bytes[i], p_ids[i], p_types[i], p_keys[i], v_metadata, v_payload);
    PERFORM @.note_largest(ARRAY[p_stream_id], ARRAY[v_partition], ARRAY[p_bytes[i]]);
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
 * The fast way for what is appended most often: events for one partition whose ids are not there yet. One event needs no plan that takes
 * columns apart, and no savepoint. Null: it is not that; nothing was written, and the partition may be locked.
 */
export const APPEND_TO_ONE: string = `
CREATE FUNCTION @.append_to_one(
  p_name text, p_count integer, p_partition integer, p_largest integer, p_slots integer[], p_places integer[], p_bytes integer[], p_ids text[], p_types text[],
  p_keys text[], p_metadata text[], p_payloads text[], p_now_ms bigint, p_channel text, p_sender text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_stream_id integer;
  v_count integer;
  v_first bigint;
  v_largest integer;
  v_now timestamptz;
  v_high bigint;
  v_latest timestamptz;
  v_written bigint;
BEGIN
  SELECT q.stream_id, t.partitions, q.first_sequence, q.largest_bytes INTO v_stream_id, v_count, v_first, v_largest
  FROM @.streams t JOIN @.partitions q ON q.stream_id = t.stream_id WHERE t.name = p_name AND q.partition = p_partition FOR UPDATE OF q;
  IF v_count IS DISTINCT FROM p_count THEN RETURN NULL; END IF;
  v_now := @.moment(p_now_ms);
  SELECT e.sequence, e.latest INTO v_high, v_latest FROM @.events e
  WHERE e.stream_id = v_stream_id AND e.partition = p_partition ORDER BY e.sequence DESC LIMIT 1;
  v_high := greatest(v_first - 1, coalesce(v_high, 0));
  IF v_high > ${NEAR_THE_END} THEN RETURN NULL; END IF;
  IF cardinality(p_ids) = 1 THEN
    INSERT INTO @.events (stream_id, partition, sequence, timestamp, latest, bytes, id, type, key, metadata, payload)
    VALUES (v_stream_id, p_partition, v_high + 1, v_now, greatest(v_latest, v_now), p_bytes[1], p_ids[1], p_types[1], p_keys[1],
      coalesce(p_metadata[1]::jsonb, '{}'), p_payloads[1]::jsonb)
    ON CONFLICT (stream_id, id) DO NOTHING;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written = 0 THEN RETURN NULL; END IF;
  ELSIF NOT @.append_hopefully(
    '{1}', ARRAY[v_stream_id], ARRAY[p_partition], ARRAY[v_high], ARRAY[v_latest], p_slots, p_places, p_bytes, p_ids, p_types, p_keys, NULL, p_metadata, p_payloads, v_now
  ) THEN RETURN NULL;
  END IF;
  IF p_largest > v_largest THEN PERFORM @.note_largest(ARRAY[v_stream_id], ARRAY[p_partition], ARRAY[p_largest]); END IF;
  IF p_channel IS NOT NULL THEN PERFORM pg_notify(p_channel, p_sender || ':' || v_stream_id); END IF;
  RETURN jsonb_build_object('now', @.ms(v_now), 'slots', jsonb_build_array(1), 'highs', jsonb_build_array(v_high), 'answers', '{}'::jsonb,
    'streams', jsonb_build_object(p_name, v_stream_id), 'transaction', pg_current_xact_id_if_assigned()::text)::text;
END $$;`;

/**
 * Appends a batch of requests, each atomic by itself. The partitions are locked, in order, until the transaction ends: so commit order is
 * sequence order. Streams that are there, are routed rightly and expect no sequence go in at once: `slots` and `highs` say where their
 * partitions stood before. The requests of the others, and of all when an id was there already, are answered one by one, by their position.
 */
export const APPEND: string = `
CREATE FUNCTION @.append(
  p_names text[], p_counts integer[], p_expects boolean[], p_owners integer[], p_partitions integer[], p_largest integer[], p_askers integer[], p_sizes integer[],
  p_slots integer[], p_places integer[], p_bytes integer[], p_ids text[], p_types text[], p_keys text[], p_times bigint[], p_expected bigint[], p_metadata text[],
  p_payloads text[], p_now_ms bigint, p_channel text, p_sender text
) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now timestamptz;
  v_found integer[];        -- slots whose partitions are there, with their streams
  v_found_ids integer[];
  v_hopeful integer[];      -- slots that may go in at once, with their streams and partitions
  v_stream_ids integer[];
  v_partitions integer[];
  v_largest integer[];
  v_highs bigint[];
  v_latests timestamptz[];
  v_grown boolean;
  v_answers jsonb := '{}';
  v_answer jsonb;
  v_from integer := 1;
  v_text text;
  s @.streams;
BEGIN
  -- a snapshot of the whole transaction may hide what holds the sequence: the long way knows what to say of that
  IF cardinality(p_owners) = 1 AND p_times IS NULL AND NOT p_expects[1] AND current_setting('transaction_isolation') = 'read committed' THEN
    v_text := @.append_to_one(
      p_names[1], p_counts[1], p_partitions[1], p_largest[1], p_slots, p_places, p_bytes, p_ids, p_types, p_keys, p_metadata, p_payloads, p_now_ms, p_channel, p_sender);
    IF v_text IS NOT NULL THEN RETURN v_text; END IF;
  END IF;
  SELECT array_agg(l.slot), array_agg(l.stream_id) INTO v_found, v_found_ids FROM (
    SELECT u.slot::integer, q.stream_id
    FROM unnest(p_owners, p_partitions) WITH ORDINALITY AS u (owner, partition, slot) JOIN @.streams t ON t.name = p_names[u.owner]
    JOIN @.partitions q ON q.stream_id = t.stream_id AND q.partition = u.partition
    ORDER BY q.stream_id, q.partition FOR UPDATE OF q
  ) l;
  v_now := @.moment(p_now_ms);
  SELECT array_agg(f.slot), array_agg(q.stream_id), array_agg(q.partition), array_agg(p_largest[f.slot]), bool_or(p_largest[f.slot] > q.largest_bytes),
    array_agg(greatest(q.first_sequence - 1, coalesce(l.sequence, 0))), array_agg(l.latest)
  INTO v_hopeful, v_stream_ids, v_partitions, v_largest, v_grown, v_highs, v_latests
  FROM unnest(v_found, v_found_ids) AS f (slot, stream_id) JOIN @.streams t ON t.stream_id = f.stream_id
  JOIN @.partitions q ON q.stream_id = f.stream_id AND q.partition = p_partitions[f.slot]
  LEFT JOIN LATERAL (
    SELECT e.sequence, e.latest FROM @.events e WHERE e.stream_id = q.stream_id AND e.partition = q.partition ORDER BY e.sequence DESC LIMIT 1
  ) l ON true
  WHERE t.partitions = p_counts[p_owners[f.slot]] AND NOT p_expects[p_owners[f.slot]];
  IF v_hopeful IS NOT NULL THEN
    IF NOT @.append_hopefully(
      v_hopeful, v_stream_ids, v_partitions, v_highs, v_latests, p_slots, p_places, p_bytes, p_ids, p_types, p_keys, p_times, p_metadata, p_payloads, v_now
    ) THEN v_hopeful := NULL;
    ELSIF v_grown THEN PERFORM @.note_largest(v_stream_ids, v_partitions, v_largest);
    END IF;
  END IF;
  IF v_hopeful IS NULL OR cardinality(v_hopeful) < cardinality(p_owners) THEN
    FOR k IN 1 .. cardinality(p_askers) LOOP
      IF NOT coalesce(p_slots[v_from] = ANY (v_hopeful), false) THEN
        SELECT * INTO s FROM @.streams WHERE name = p_names[p_askers[k]];
        IF NOT FOUND THEN v_answer := jsonb_build_object('kind', 'stream_not_found');
        ELSIF s.partitions <> p_counts[p_askers[k]] THEN v_answer := jsonb_build_object('kind', 'rerouted', 'partitions', s.partitions);
        ELSE
          FOR attempt IN 1 .. 2 LOOP
            v_answer := @.append_one(
              s.stream_id, v_from, p_sizes[k], p_partitions, p_slots, p_bytes, p_ids, p_types, p_keys, p_times, p_expected, p_metadata, p_payloads, v_now);
            EXIT WHEN v_answer IS NOT NULL;
          END LOOP;
          IF v_answer IS NULL THEN
            RAISE EXCEPTION 'could not serialize access: an event of this id was appended since this transaction began' USING ERRCODE = 'serialization_failure';
          END IF;
        END IF;
        v_answers := v_answers || jsonb_build_object(k - 1, v_answer);
      END IF;
      v_from := v_from + p_sizes[k];
    END LOOP;
  END IF;
  IF p_channel IS NOT NULL AND v_found IS NOT NULL THEN
    PERFORM pg_notify(p_channel, p_sender || ':' || string_agg(i::text, ',')) FROM (SELECT DISTINCT i FROM unnest(v_found_ids) i LIMIT ${IDS_SENT}) ids;
  END IF;
  RETURN jsonb_build_object('now', @.ms(v_now), 'slots', to_jsonb(v_hopeful), 'highs', to_jsonb(v_highs), 'answers', v_answers,
    'streams', (SELECT jsonb_object_agg(p_names[p_owners[f.slot]], f.stream_id) FROM unnest(v_found, v_found_ids) AS f (slot, stream_id)),
    'transaction', pg_current_xact_id_if_assigned()::text)::text;
END $$;`;
