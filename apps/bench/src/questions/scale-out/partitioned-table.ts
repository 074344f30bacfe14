/** PostgreSQL's table of events divided by declaration, so that several streams have a table each. */
import pg from "pg";
import { type Question, rate } from "../../question.ts";
import type { ServerPlace } from "../../systems.ts";
import { appendAndDrain } from "./drain-streams.ts";

const STREAMS = 4;

/** While it is empty: a table of the same columns, constraints and indexes, in so many parts by stream. */
const divide = async ({ url, name }: ServerPlace, parts: number): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("BEGIN");
  await client.query(`CREATE TABLE ${name}.divided (LIKE ${name}.events INCLUDING ALL) PARTITION BY HASH (stream_id)`);
  for (let part = 0; part < parts; part++)
    await client.query(
      `CREATE TABLE ${name}.events_${part} PARTITION OF ${name}.divided FOR VALUES WITH (MODULUS ${parts}, REMAINDER ${part})`,
    );
  await client.query(`ALTER TABLE ${name}.events RENAME TO undivided`);
  await client.query(`ALTER TABLE ${name}.divided RENAME TO events`);
  await client.query("COMMIT");
  await client.end();
};

const question = (parts: number): Question => ({
  name: "scale-out",
  title: `PostgreSQL, ${STREAMS} streams, the table of events in ${parts} parts`,
  mostRuns: 2,
  fits: ({ name }) => name === "postgres",
  ask: async (system, { events }) => {
    const opened = await system.open();
    if (parts > 1 && opened.place.kind === "server") await divide(opened.place, parts);
    const { append, drain } = await appendAndDrain(opened.rheo, { streams: STREAMS, partitions: 1, events });
    await opened.close();
    const parameters = { streams: STREAMS, parts };
    return [
      rate("append in bulk, table of events divided", system, append, 1, parameters),
      rate("drain inline, table of events divided", system, drain, 1, parameters),
    ];
  },
});

export const partitionedTables: readonly Question[] = [1, STREAMS].map(question);
