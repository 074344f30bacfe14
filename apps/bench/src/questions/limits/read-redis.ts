import { Redis } from "ioredis";

/** Fields of an entry, by name and value in turn. */
type Entry = readonly [id: string, fields: readonly string[]];

/** Reads `limit` payloads at a time as JSON values and keeps a cursor for each batch: one exchange per batch, on one connection. */
export const readAllOfKeys = async (url: string, prefix: string, limit: number): Promise<number> => {
  const client = new Redis(url);
  const log = `${prefix}:{bench/0}:log`;
  let position = "0-0";
  let sum = 0;
  for (;;) {
    const answers = await client
      .pipeline()
      .set(`${prefix}:bare-cursor`, position)
      .xrange(log, `(${position}`, "+", "COUNT", limit)
      .exec();
    const entries = (answers?.[1]?.[1] ?? []) as readonly Entry[]; // documented so
    for (const [, fields] of entries) sum += versionOf(fields);
    const last = entries.at(-1);
    if (last === undefined) break;
    [position] = last;
  }
  client.disconnect();
  return sum;
};

const versionOf = (fields: readonly string[]): number => {
  const payload = fields[fields.indexOf("payload") + 1] ?? "{}";
  return (JSON.parse(payload) as { version: number }).version;
};
