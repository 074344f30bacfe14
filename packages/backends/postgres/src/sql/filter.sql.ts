/**
 * The filter language as SQL (G7). A filter arrives as a program that core has made of it (`programOf`): nested arrays of `["all", …]`,
 * `["any", …]`, `["not", program]`, `["value", boolean]` and tests `[operator, root, path, operand]`. Everything that comes from outside
 * is written as a literal by format(%L). The reference meaning is core's `compileFilter`.
 */

/**
 * The value at a path by own names only: what `#>` does, but for names that it would take for positions ("-1", "01", " 1").
 * Null when missing.
 */
export const OWN_PATH = `
CREATE FUNCTION @.own_path(p_value jsonb, p_path text[]) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_value jsonb := p_value;
  v_name text;
BEGIN
  FOREACH v_name IN ARRAY p_path LOOP
    v_value := CASE jsonb_typeof(v_value)
      WHEN 'object' THEN v_value -> v_name
      WHEN 'array' THEN CASE WHEN v_name ~ '^(0|[1-9][0-9]{0,8})$' THEN v_value -> v_name::integer END
    END;
    IF v_value IS NULL THEN RETURN NULL; END IF;
  END LOOP;
  RETURN v_value;
END $$;`;

/** The value that a test is about, as SQL over a row `e` of events: jsonb, or text of a column; null when missing. */
export const FILTER_VALUE = `
CREATE FUNCTION @.filter_value(p_root text, p_path jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_path text[] := ARRAY(SELECT jsonb_array_elements_text(p_path));
  v_root text := CASE p_root WHEN 'id' THEN 'e.id' WHEN 'type' THEN 'e.type' WHEN 'key' THEN 'e.key'
    WHEN 'metadata' THEN 'e.metadata' WHEN 'payload' THEN 'e.payload' END;
BEGIN
  IF v_root IS NULL THEN RAISE EXCEPTION 'no such root: %', p_root; END IF;
  IF cardinality(v_path) = 0 THEN RETURN v_root; END IF;
  IF EXISTS (SELECT FROM unnest(v_path) n WHERE n ~ '^\\s*[-+]?[0-9]' AND n !~ '^(0|[1-9][0-9]{0,8})$') THEN
    RETURN format('@.own_path(%s, %L::text[])', v_root, v_path);
  END IF;
  RETURN format('(%s #> %L::text[])', v_root, v_path);
END $$;`;

/** A test on a column of text, as SQL. What is compared with anything but text is false. */
export const COLUMN_SQL = `
CREATE FUNCTION @.column_sql(p_kind text, p_column text, p_operand jsonb, p_strict boolean) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_test text;
BEGIN
  IF p_kind = 'exists' THEN RETURN format('(%s IS NOT NULL)', p_column); END IF;
  IF p_kind <> 'in' AND jsonb_typeof(p_operand) <> 'string' THEN RETURN 'false'; END IF;
  v_test := CASE p_kind
    WHEN 'eq' THEN format('%s = %L', p_column, p_operand #>> '{}')
    WHEN 'in' THEN format('%s = ANY (%L::text[])', p_column, ARRAY(SELECT o #>> '{}' FROM jsonb_array_elements(p_operand) o WHERE jsonb_typeof(o) = 'string'))
    WHEN 'startsWith' THEN format('starts_with(%s, %L)', p_column, p_operand #>> '{}')
    ELSE format('%s %s %L', p_column, @.comparison(p_kind), p_operand #>> '{}')
  END;
  RETURN CASE WHEN p_strict THEN 'coalesce(' || v_test || ', false)' ELSE '(' || v_test || ')' END;
END $$;`;

/**
 * A program as an SQL condition over a row `e` of events. With `p_strict` it is true or false, never null: what NOT needs. Without, null
 * stands for false, so that the planner sees comparisons that an index can answer.
 */
export const FILTER_SQL = `
CREATE FUNCTION @.filter_sql(p_program jsonb, p_strict boolean DEFAULT true) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_kind text := p_program->>0;
  v_parts text[];
  v_value text;
  v_text text;
  v_test text;
BEGIN
  IF p_program IS NULL THEN RETURN NULL; END IF;
  IF v_kind IN ('all', 'any') THEN
    v_parts := ARRAY(SELECT @.filter_sql(part, p_strict) FROM jsonb_array_elements(p_program) WITH ORDINALITY AS a (part, n) WHERE n > 1 ORDER BY n);
    IF cardinality(v_parts) = 0 THEN RETURN CASE v_kind WHEN 'all' THEN 'true' ELSE 'false' END; END IF;
    RETURN '(' || array_to_string(v_parts, CASE v_kind WHEN 'all' THEN ' AND ' ELSE ' OR ' END) || ')';
  END IF;
  IF v_kind = 'not' THEN RETURN '(NOT ' || @.filter_sql(p_program->1) || ')'; END IF;
  IF v_kind = 'value' THEN RETURN CASE WHEN (p_program->1)::boolean THEN 'true' ELSE 'false' END; END IF;
  v_value := @.filter_value(p_program->>1, p_program->2);
  IF p_program->>1 IN ('id', 'type', 'key') THEN
    RETURN @.column_sql(v_kind, 'e.' || (p_program->>1), p_program->3, p_strict);
  END IF;
  v_text := format('(%s #>> ''{}'')', v_value);
  IF v_kind = 'exists' THEN RETURN format('(%s IS NOT NULL)', v_value); END IF;
  v_test := CASE v_kind
    WHEN 'eq' THEN format('%s = %L::jsonb', v_value, p_program->3)
    WHEN 'in' THEN format('%s = ANY (%L::jsonb[])', v_value, ARRAY(SELECT jsonb_array_elements(p_program->3)))
    WHEN 'startsWith' THEN format('jsonb_typeof(%s) = ''string'' AND starts_with(%s, %L)', v_value, v_text, p_program->>3)
    ELSE CASE jsonb_typeof(p_program->3)
      WHEN 'number' THEN format('jsonb_typeof(%s) = ''number'' AND %s %s %L::jsonb', v_value, v_value, @.comparison(v_kind), p_program->3)
      ELSE format('jsonb_typeof(%s) = ''string'' AND %s COLLATE "C" %s %L', v_value, v_text, @.comparison(v_kind), p_program->>3)
    END
  END;
  RETURN CASE WHEN p_strict THEN 'coalesce(' || v_test || ', false)' ELSE '(' || v_test || ')' END;
END $$;`;

export const COMPARISON = `
CREATE FUNCTION @.comparison(p_operator text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE p_operator WHEN 'gt' THEN '>' WHEN 'gte' THEN '>=' WHEN 'lt' THEN '<' WHEN 'lte' THEN '<=' END
$$;`;
