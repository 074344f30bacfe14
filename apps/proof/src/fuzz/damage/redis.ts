/** Ways to damage what Rheo keeps in Redis. */
import type { Redis } from "ioredis";
import type { Damage } from "./damage.ts";
import { GROUP, STREAM } from "./shop.ts";
import { placeOf } from "./visit.ts";

const HIT = placeOf(0, 5);
const key = (name: string): string => `rheo:{${STREAM}/0}:${name}`;
const LOG = key("log");
const ofGroup = (name: string): string => key(`g:${GROUP}${name}`);

/** Entries of a Redis stream never change: so the whole of it is written anew. */
const rewriteLog = async (redis: Redis, change: (sequence: number, fields: string[]) => string[] | null): Promise<void> => {
  const entries = await redis.xrange(LOG, "-", "+");
  await redis.del(LOG);
  for (const [id, fields] of entries) {
    const changed = change(Number.parseInt(id, 10), fields);
    if (changed !== null) await redis.xadd(LOG, id, ...changed);
  }
};

const withField =
  (name: string, value: string) =>
  (redis: Redis): Promise<void> =>
    rewriteLog(redis, (sequence, fields) =>
      sequence === 5 ? fields.map((field, at) => (at % 2 === 1 && fields[at - 1] === name ? value : field)) : fields,
    );

/** Parts of a header: id, at, type, key and metadata. */
const withPart =
  (part: "at" | "metadata", value: string) =>
  (redis: Redis): Promise<void> =>
    rewriteLog(redis, (sequence, [name = "", header = "", ...rest]) => {
      const parts = header.split("\0");
      parts[part === "at" ? 1 : 4] = value;
      return [name, sequence === 5 ? parts.join("\0") : header, ...rest];
    });

const RECORD_DAMAGES: readonly Damage<Redis>[] = [
  { name: "payload that is not JSON", hit: [HIT], apply: withField("payload", '{"kind": "order", "num') },
  { name: "payload that is empty", hit: [HIT], apply: withField("payload", "") },
  { name: "metadata that is not JSON", hit: [HIT], apply: withPart("metadata", "{'a'") },
  { name: "metadata that is JSON of another kind", hit: [HIT], apply: withPart("metadata", "[1]") },
  { name: "time that is text", hit: [HIT], apply: withPart("at", "noon") },
  { name: "header without its parts", hit: [HIT], apply: withField("event", "hello") },
  { name: "header with too many parts", hit: [HIT], apply: withPart("metadata", "{}\0{}") },
  {
    name: "event of foreign fields",
    hit: [HIT],
    apply: (redis) => rewriteLog(redis, (at, fields) => (at === 5 ? ["hello", "world"] : fields)),
  },
  { name: "payload with U+0000", hit: [HIT], apply: withField("payload", '{"a":\u0000"b"}') },
  { name: "event missing", hit: [HIT], apply: (redis) => redis.xdel(LOG, "5-0") },
  { name: "events missing in a row", hit: [placeOf(0, 7), placeOf(0, 8)], apply: (redis) => redis.xdel(LOG, "7-0", "8-0") },
];

const foreign = (name: string): Damage<Redis> => ({
  name: `${name} of a foreign type`,
  hit: null,
  apply: async (redis) => {
    await redis.del(name);
    await redis.lpush(name, "foreign");
  },
});
const garbled = (hash: string, field: string, value: string): Damage<Redis> => ({
  name: `${hash} ${field} = ${JSON.stringify(value)}`,
  hit: null,
  apply: (redis) => redis.hset(hash, field, value),
});
const gone = (name: string): Damage<Redis> => ({ name: `${name} gone`, hit: null, apply: (redis) => redis.del(name) });

const KEYS = [
  "rheo:{catalog}:streams",
  "rheo:{catalog}:names",
  "rheo:{catalog}:meta",
  key("head"),
  LOG,
  key("groups"),
  ofGroup(""),
  ofGroup(":leases"),
  ofGroup(":exceptions"),
  ofGroup(":dead"),
  ofGroup(":expiries"),
  ofGroup(":waiting"),
  ofGroup(":members"),
  `rheo:{${STREAM}/ids/0}`,
] as const;

const PROGRESS_DAMAGES: readonly Damage<Redis>[] = [
  ...KEYS.map(foreign),
  ...KEYS.map(gone),
  garbled("rheo:{catalog}:streams", STREAM, "{"),
  garbled("rheo:{catalog}:streams", STREAM, "null"),
  garbled("rheo:{catalog}:streams", STREAM, '{"partitions":1e9}'),
  garbled(key("head"), "log", "many few"),
  garbled(key("head"), "log", "999 1 62 1796033047656"),
  garbled(key("head"), "log", "3 1 62 1796033047656"),
  garbled(ofGroup(""), "progress", "x y z"),
  garbled(ofGroup(""), "progress", "1000 2 1 0 17"),
  garbled(ofGroup(""), "options", "{"),
  garbled(ofGroup(""), "options", "null"),
  garbled(ofGroup(""), "attempts", "many"),
  garbled(ofGroup(":leases"), "1", "4-5 nonsense"),
  garbled(ofGroup(":leases"), "1", "4-9007199254740991 9007199254740988 1 0 0 1796033047664 1796033047714 - main-1"),
  garbled(ofGroup(":leases"), "1", "5-4 2 1 0 0 1796033047664 1796033047714 - main-1"),
  garbled(ofGroup(":exceptions"), "0000000000000003", "r"),
  garbled(ofGroup(":exceptions"), "junk", "junk"),
];

export const REDIS_DAMAGES: readonly Damage<Redis>[] = [...RECORD_DAMAGES, ...PROGRESS_DAMAGES];
