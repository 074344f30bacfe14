/**
 * Deliveries whose events are not there, which only damage can do: they are closed, and told as skipped (P1), as core's progress does. None
 * of it is reached while the log is whole.
 */

/** Tells of so many in one partition, which the caller holds. */
export const SKIP = `
CREATE FUNCTION @.skip(p_group_id integer, p_partition integer, p_count bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE @.progress SET skipped = skipped + p_count WHERE group_id = p_group_id AND partition = p_partition
$$;`;

/** Takes those of a grant out of what was just leased. */
export const SKIP_IN_GRANT = `
CREATE FUNCTION @.skip_in_grant(p_group_id integer, p_stream_id integer, p_grant @.granted) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_gone int8multirange := p_grant.sequences - (
    SELECT coalesce(range_agg(int8range(e.sequence, e.sequence + 1)), '{}') FROM @.events e
    WHERE e.stream_id = p_stream_id AND e.partition = p_grant.partition AND e.sequence >= lower(p_grant.sequences) AND e.sequence < upper(p_grant.sequences)
  );
  l @.leases;
BEGIN
  FOR l IN SELECT * FROM @.leases WHERE group_id = p_group_id AND partition = p_grant.partition AND token = p_grant.token LOOP
    IF @.open_of(l) && v_gone THEN PERFORM @.keep_open(l, @.open_of(l) - v_gone); END IF;
  END LOOP;
  PERFORM @.skip(p_group_id, p_grant.partition, @.size_of(v_gone));
END $$;`;
