/** Whether groups that had nothing to fetch have something now: many in one call, each for what the first look of an exchange costs. */

/**
 * The places, from 0, of the groups that an exchange might give something, change something or fail for. A group is
 * [stream, group, partitions or null]. Errs only towards yes: what order, filters and bounds leave of it, the exchange finds out.
 * Writes nothing.
 */
export const CLAIMABLE = `
CREATE FUNCTION @.claimable(p_groups jsonb, p_now_ms bigint) RETURNS SETOF integer
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now timestamptz := @.moment(p_now_ms);
  v_place integer;
  v_partitions integer[];
  v_any boolean;
  w record;
  g record;
BEGIN
  FOR w IN SELECT value AS group, ordinality - 1 AS place FROM jsonb_array_elements(p_groups) WITH ORDINALITY LOOP
    v_place := w.place;
    SELECT * INTO g FROM @.find_group(w.group->>0, w.group->>1);
    CONTINUE WHEN g.paused;
    IF g.group_id IS NULL OR EXISTS (SELECT FROM @.settlements t WHERE t.group_id = g.group_id) THEN
      v_any := true;
    ELSE
      v_partitions := CASE jsonb_typeof(w.group->2) WHEN 'array' THEN ARRAY(SELECT p::integer FROM jsonb_array_elements_text(w.group->2) p) END;
      IF EXISTS (SELECT FROM @.exceptions x WHERE x.group_id = g.group_id) THEN
        SELECT bool_or(s.backlog OR s.due OR s.expired OR (g.ordering <> 'none' AND s.exceptional)) INTO v_any
        FROM @.survey(g.group_id, g.stream_id, v_now, true) s WHERE v_partitions IS NULL OR s.partition = ANY (v_partitions);
      ELSE
        SELECT NOT s.plain OR s.partitions IS NOT NULL INTO v_any FROM @.survey_plain(g.group_id, g.stream_id, v_partitions, v_now) s;
      END IF;
    END IF;
    IF v_any THEN RETURN NEXT v_place; END IF;
  END LOOP;
END $$;`;
