/** After a failover that may have lost writes: tokens go on above all that were ever given (F1). */
import { createHash } from "node:crypto";
import { parseNumber } from "@rheo/core/internal";
import { RedisConnection, type Script } from "./connection.ts";
import { catalogKey, metaKey } from "./keys.ts";
import { RAISE_FLOOR_BY, RAISE_TOKENS } from "./lua/raise-tokens.lua.ts";
import { type RedisOptions, resolveOptions } from "./options.ts";
import { Streams } from "./streams.ts";

/** More than were ever given in what was lost. */
const DEFAULT_BY = 1_000_000;
const MOST_BY = 1_000_000_000;

const scriptOf = (name: string, text: string): Script => ({
  name,
  text,
  sha: createHash("sha1").update(text).digest("hex"),
  writes: true,
});
const PARTITION = scriptOf("raise_tokens", RAISE_TOKENS);
const META = scriptOf("raise_floor_by", RAISE_FLOOR_BY);

/**
 * Puts the tokens of all groups of a store up by `by` (1–1,000,000,000; default 1,000,000), so that leases of writes that a failover lost are
 * `stale_lease`, and tokens kept elsewhere rise again. Leases that are there stay good. Members may be at work; repeating it does no harm.
 * @throws invalid_option, invalid_name, unavailable, outcome_unknown
 */
export const raiseTokens = async (options: RedisOptions, by?: number): Promise<void> => {
  const amount = parseNumber("by", by, { min: 1, max: MOST_BY, fallback: DEFAULT_BY });
  const resolved = resolveOptions(options);
  const connection = new RedisConnection(resolved, Math.random);
  try {
    await connection.open();
    await connection.run(META, [metaKey(resolved.prefix)], [amount]);
    const streams = new Streams(connection, resolved.prefix);
    const names = (await connection.call("hkeys", catalogKey(resolved.prefix))) as string[]; // documented so
    for (const name of names) {
      const stream = await streams.look(name);
      for (const head of stream?.heads ?? []) await connection.run(PARTITION, [head], [amount]);
    }
  } finally {
    await connection.end();
  }
};
