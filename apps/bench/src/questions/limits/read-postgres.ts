import pg from "pg";

/**
 * Commits the cursor of the batch before and reads the next one, by the primary key as the store itself reads: one prepared
 * statement and one exchange per batch, as cheap as plain pg can do it.
 */
const readOf = (schema: string): string => `
WITH moved AS (UPDATE ${schema}.bare_cursor SET position = $1)
SELECT sequence, payload FROM ${schema}.events
WHERE stream_id = 1 AND partition = 0 AND sequence > $1 ORDER BY sequence LIMIT $2`;

/** As bigint comes from pg: as text. jsonb comes parsed. */
interface Row {
  readonly sequence: string;
  readonly payload: { readonly version: number };
}

/** Reads `limit` payloads at a time as JSON values and commits a cursor for each batch, on one connection. */
export const readAllOfSchema = async (url: string, schema: string, limit: number): Promise<number> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE TABLE ${schema}.bare_cursor (position bigint NOT NULL)`);
  await client.query(`INSERT INTO ${schema}.bare_cursor VALUES (0)`);
  let position = "0";
  let sum = 0;
  for (;;) {
    const { rows } = await client.query<Row>({ name: "bare-read", text: readOf(schema), values: [position, limit] });
    for (const { payload } of rows) sum += payload.version;
    const last = rows.at(-1);
    if (last === undefined) break;
    position = last.sequence;
  }
  await client.end();
  return sum;
};
