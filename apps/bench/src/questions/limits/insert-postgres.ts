import pg from "pg";

/** Inserts a batch per statement into a table with nothing but a key, on one connection. In ms. */
export const insertIntoSchema = async (url: string, schema: string, batches: readonly (readonly string[])[]): Promise<number> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `CREATE TABLE ${schema}.bare_log (sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload jsonb NOT NULL)`,
  );
  const text = `INSERT INTO ${schema}.bare_log (payload) SELECT unnest($1::jsonb[])`;
  const startedMs = performance.now();
  for (const batch of batches) await client.query({ name: "bare-insert", text, values: [batch] });
  const tookMs = performance.now() - startedMs;
  await client.end();
  return tookMs;
};
