/** Last attempts of crash suspects: the twin of `last-chance` in core's progress (T5). */

/** Whether a search for the killer among suspects must wait, because this member is in one, or in a last attempt, already. */
export const IS_SEARCHING = `
CREATE FUNCTION @.is_searching(p @.pass) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT p.suspects > 0 OR p.held_searching $$;`;

/**
 * The attempt of an expired single lease: the last, if it is proven that it ran alone before, or has not crashed before; else one more
 * start at the number that it has, so that it is not charged for what it was beside.
 */
export const ATTEMPT_OF = `
CREATE FUNCTION @.attempt_of(p @.pass, p_attempt integer, p_takeovers integer, p_alone integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_alone > 0 OR p_takeovers = 0 THEN p.max_attempts ELSE greatest(p_attempt, p.max_attempts - 1) END
$$;`;

/**
 * Whether a suspect's last attempt, or last but one, may be granted now, and how alone: 2, to a member that holds nothing else; 0, to a member
 * that has not become idle in one lease length; -1, not now; -2, not now, and the member is given nothing, so that it becomes idle.
 */
export const LAST_CHANCE = `
CREATE FUNCTION @.last_chance(p @.pass, p_waiting_since timestamptz) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN p.granted = 0 AND p.held = 0 THEN 2
    WHEN p_waiting_since < p.now - p.lease THEN CASE WHEN @.is_searching(p) THEN -1 ELSE 0 END
    WHEN p.granted = 0 THEN -2
    ELSE -1
  END
$$;`;

/**
 * What a member holds that is alone, at most so much, or that is live at that time, is so no longer. What somebody else is changing in
 * another partition is left. Cost: the leases in flight.
 */
export const CLEAR_ALONE = `
CREATE FUNCTION @.clear_alone(p_group_id integer, p_consumer_id text, p_most integer, p_now timestamptz, p_own text[]) RETURNS void LANGUAGE sql AS $$
  UPDATE @.leases SET alone = 0 WHERE ctid = ANY (ARRAY(
    SELECT l.ctid FROM @.progress q CROSS JOIN LATERAL @.head_of(q.group_id, q.partition) h
    JOIN @.leases l ON l.group_id = q.group_id AND l.partition = q.partition AND l.token >= h.floor
    WHERE q.group_id = p_group_id AND l.consumer_id = p_consumer_id AND (l.alone BETWEEN 1 AND p_most OR l.alone > p_most AND l.expires_at > p_now)
      AND l.partition || '/' || l.token <> ALL (p_own) FOR NO KEY UPDATE OF l SKIP LOCKED));
  UPDATE @.exceptions SET alone = 0 WHERE ctid = ANY (ARRAY(
    SELECT x.ctid FROM @.exceptions x WHERE x.group_id = p_group_id AND x.state = 'leased' AND x.consumer_id = p_consumer_id AND (x.alone BETWEEN 1 AND p_most OR x.alone > p_most AND x.due_at > p_now)
      AND x.partition || '/' || x.token <> ALL (p_own) FOR NO KEY UPDATE SKIP LOCKED));
$$;`;

/**
 * Marks what happens to be all that its member holds, where that is going to matter; unmarks it when its member is given more, and a last
 * attempt that is no longer kept from that (T5).
 */
export const MARK_CHANCES = `
CREATE FUNCTION @.mark_chances(p @.pass, p_alone boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_sequence bigint;
BEGIN
  IF p_alone AND p.granted > 0 THEN
    PERFORM @.clear_alone(p.group_id, p.consumer_id, 1, p.now, ARRAY(SELECT c.partition || '/' || c.token FROM unnest(p.places) c WHERE c.token <> c.old_token));
  END IF;
  IF p.granted <> 1 OR p.held > 0 OR p.grants[1].attempt < p.max_attempts - 1 THEN RETURN; END IF;
  v_sequence := lower(p.grants[1].sequences);
  UPDATE @.leases SET alone = 1
  WHERE group_id = p.group_id AND partition = p.grants[1].partition AND token = p.grants[1].token AND first_sequence = v_sequence AND alone = 0;
  UPDATE @.exceptions SET alone = 1
  WHERE group_id = p.group_id AND partition = p.grants[1].partition AND sequence = v_sequence AND alone = 0;
END $$;`;
