/** The log as Redis has it, and appending where the contract does not look. */
import type { AppendAnswer, Backend, NewEvent } from "@rheo/core";
import { partitionOfKey } from "@rheo/core/internal";
import { RESERVED, tailOf } from "@rheo/redis/internal";
import { startRedis, startRedisCluster } from "@rheo/testing/servers";
import { Cluster, Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { event, fetching, GROUP, OPTIONS, openBackend, REAL_TIME, STREAM } from "./fixtures/scene.ts";
import { newPrefix, openStore } from "./fixtures/store.ts";

const server = await startRedis();
const client = new Redis(server.url);
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

const openStream = async (partitions: number): Promise<{ backend: Backend; prefix: string }> => {
  const prefix = newPrefix();
  const backend = await openBackend({ url: server.url, prefix, notify: false });
  await backend.createStream(STREAM, partitions);
  return { backend, prefix };
};

const appendTo = async (backend: Backend, partitions: number, events: readonly NewEvent[]): Promise<AppendAnswer> => {
  const [answer] = await backend.append([{ stream: STREAM, partitions, events }]);
  return answer as AppendAnswer; // one per request
};

const sequencesOf = (answer: AppendAnswer): readonly number[] =>
  answer.kind === "appended" ? answer.events.map(({ sequence }) => sequence) : [];

describe("the log", () => {
  test("is a stream of Redis for each partition, whose entries any tool can read", async () => {
    const { backend, prefix } = await openStream(2);
    const full = {
      ...event({ total: 12.5 }, 1),
      type: "placed",
      key: "c-1",
      metadata: '{"source":"web"}',
      timestampMs: 1_700_000_000_000,
    };
    const early = { ...event({}, 1), timestampMs: 1_600_000_000_000 };
    await appendTo(backend, 2, [full, early]);
    const log = `${prefix}:{${STREAM}/1}:log`;
    expect(await client.type(log)).toBe("stream");
    expect(await client.xrange(log, "-", "+")).toEqual([
      ["1-0", ["event", `${full.id}\0${1_700_000_000_000}\0=placed\0=c-1\0{"source":"web"}`, "payload", '{"total":12.5}']],
      ["2-0", ["event", `${early.id}\0${1_600_000_000_000}\0\0\0{}`, "payload", "{}", "latest", "1700000000000"]],
    ]);
    expect(await client.exists(`${prefix}:{${STREAM}/0}:log`)).toBe(0);
    await backend.close();
  });

  test("may have entries of layout 1, with a field for each part of an event", async () => {
    const { backend, prefix } = await openStream(1);
    const full = { ...event({ n: 1 }), type: "placed", key: "c-1", metadata: '{"a":1}', timestampMs: 1_700_000_000_000 };
    const early = { ...event({ n: 2 }), timestampMs: 1_600_000_000_000 };
    await appendTo(backend, 1, [full, early]);
    const before = await backend.readIds(STREAM, [full.id, early.id]);
    const log = `${prefix}:{${STREAM}/0}:log`;
    await client.del(log);
    const parts = ["type", "placed", "key", "c-1", "metadata", full.metadata, "payload", full.payload];
    await client.xadd(log, "1-0", "id", full.id, "at", "1700000000000", ...parts);
    await client.xadd(log, "2-0", "id", early.id, "at", "1600000000000", "latest", "1700000000000", "payload", early.payload);
    expect(await backend.readIds(STREAM, [full.id, early.id])).toEqual(before);
    expect(sequencesOf(await appendTo(backend, 1, [event({ n: 3 }), full, early]))).toEqual([3, 1, 2]);
    const start = { kind: "time", timeMs: 1_650_000_000_000 } as const;
    await backend.createGroup(STREAM, GROUP, { ...OPTIONS, ordering: "key", filter: { type: "placed" } }, start);
    const { grants } = await backend.exchange(fetching(10));
    expect(grants.flatMap(({ events }) => events)).toEqual(before.slice(0, 1));
    await backend.close();
  });

  test("has no group of Redis, and so no pending list", async () => {
    const { backend, prefix } = await openStream(1);
    await appendTo(backend, 1, [event()]);
    expect(await client.xinfo("GROUPS", `${prefix}:{${STREAM}/0}:log`)).toEqual([]);
    await backend.close();
  });
});

describe("an append", () => {
  test("of 10,000 events over many partitions is one script, and all or nothing", async () => {
    const { backend, prefix } = await openStream(8);
    const taken = event("taken", 3);
    await appendTo(backend, 8, [taken]);
    const events = Array.from({ length: 10_000 }, (_, n) => event(n, n % 8));
    await client.config("RESETSTAT");
    const refused = await appendTo(backend, 8, [...events.slice(1), { ...taken, payload: '"other"' }]);
    expect(refused).toMatchObject({ kind: "id_conflict", index: 9_999 });
    expect((await backend.watermarks(STREAM)).map(({ highWatermark }) => highWatermark)).toEqual([0, 0, 0, 1, 0, 0, 0, 0]);
    expect((await appendTo(backend, 8, events)).kind).toBe("appended");
    const stats = String(await client.info("commandstats"));
    // two appends, one look at the watermarks
    expect(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]).toBe("3");
    expect(await client.xlen(`${prefix}:{${STREAM}/3}:log`)).toBe(1_251);
    await backend.close();
  });

  test("of one event many times over, written differently each time, stores it once", async () => {
    const { backend } = await openStream(2);
    const first = { ...event({ a: 1, b: 2 }), metadata: '{"x":1,"y":2}' };
    const again = [
      { ...first, payload: '{"b":2,"a":1}' },
      { ...first, metadata: '{"y":2,"x":1}' },
      { ...first, payload: '{"b":2,"a":1}', metadata: '{"y":2,"x":1}', partition: 1 },
    ];
    const fresh = event("new", 1);
    const answer = await appendTo(backend, 2, [first, ...again, fresh]);
    expect(sequencesOf(answer)).toEqual([1, 1, 1, 1, 1]);
    expect(sequencesOf(await appendTo(backend, 2, [...again, fresh, first]))).toEqual([1, 1, 1, 1, 1]);
    await backend.close();
  });

  test("keeps sequences and times exact beyond where Lua writes numbers with an exponent", async () => {
    const { backend, prefix } = await openStream(1);
    const far = 1_000_000_000_000_000;
    await client.hset(`${prefix}:{${STREAM}/0}:head`, "log", `${far} ${far + 1} 0 -`);
    const written = { ...event(), timestampMs: 8_640_000_000_000_000 };
    expect(sequencesOf(await appendTo(backend, 1, [written]))).toEqual([far + 1]);
    const [stored] = await backend.readIds(STREAM, [written.id]);
    expect(stored).toMatchObject({ sequence: far + 1, timestampMs: 8_640_000_000_000_000 });
    await backend.close();
  });

  test("to a partition that has used up its sequences is refused, and nothing is written", async () => {
    const { backend, prefix } = await openStream(1);
    await client.hset(`${prefix}:{${STREAM}/0}:head`, "log", `${Number.MAX_SAFE_INTEGER - 1} 1 0 -`);
    await expect(appendTo(backend, 1, [event(), event()])).rejects.toMatchObject({ code: "unavailable" });
    expect(sequencesOf(await appendTo(backend, 1, [event()]))).toEqual([Number.MAX_SAFE_INTEGER]);
    await expect(appendTo(backend, 1, [event()])).rejects.toMatchObject({ code: "unavailable" });
    await backend.close();
  });
});

describe("a stream that was removed and made again elsewhere", () => {
  test("with other partitions reroutes, and old appenders do not write into the new one by the old count", async () => {
    const store = openStore(server.url);
    const [one, other] = [store.backend, await store.again()];
    for (const backend of [one, other]) await backend.open(REAL_TIME);
    await one.createStream(STREAM, 2);
    await appendTo(one, 2, [event()]);
    await other.deleteStream(STREAM);
    await other.createStream(STREAM, 5);
    expect(await appendTo(one, 2, [event()])).toEqual({ kind: "rerouted", partitions: 5 });
    expect(sequencesOf(await appendTo(one, 5, [event("x", 4)]))).toEqual([1]);
    for (const backend of [one, other]) await backend.close();
    await store.dispose?.();
  });
});

describe("an append on a Cluster", async () => {
  const cluster = await startRedisCluster();
  const raw = new Cluster([...cluster.nodes]);
  afterAll(async () => {
    raw.disconnect();
    await cluster.stop();
  });
  const PARTITIONS = 4;
  const open = async (): Promise<{ backend: Backend; prefix: string; nonce: string }> => {
    const prefix = newPrefix();
    const backend = await openBackend({ nodes: cluster.nodes, prefix, notify: false });
    await backend.createStream(STREAM, PARTITIONS);
    const { nonce } = JSON.parse(String(await raw.hget(`${prefix}:{catalog}:streams`, STREAM))) as { nonce: string };
    return { backend, prefix, nonce };
  };
  const idsOf = async (prefix: string): Promise<Record<string, string>> => {
    const all: Record<string, string> = {};
    for (let shard = 0; shard < PARTITIONS; shard++) Object.assign(all, await raw.hgetall(`${prefix}:{${STREAM}/ids/${shard}}`));
    delete all[""];
    return all;
  };
  /** Reserves an id as an owner does who then dies. */
  const reserve = async (prefix: string, nonce: string, id: string, meaning: string): Promise<void> => {
    const key = `${prefix}:{${STREAM}/ids/${partitionOfKey(id, PARTITIONS)}}`;
    await raw.eval(RESERVED.putIds.text, 1, key, nonce, id, "", meaning);
  };
  const late = (prefix: string, nonce: string, partition: number, name: string, one: NewEvent): Promise<unknown> => {
    const batch = Buffer.concat([
      Buffer.from([0x96, 0x91, 1, 0x91, 0xd9, one.id.length]),
      Buffer.from(one.id),
      Buffer.from([0x90, 0x90, 0x91, 0, 0x92, 0xd9, tailOf(one).length]),
      Buffer.from(tailOf(one)),
      Buffer.from([0xd9, one.payload.length]),
      Buffer.from(one.payload),
    ]);
    const head = `${prefix}:{${STREAM}/${partition}}:head`;
    return raw.eval(RESERVED.appendAt.text, 1, head, nonce, "", one.bytes, batch, name, Date.now());
  };

  test("takes over an id whose owner reserved it and died; an owner that comes late is refused", async () => {
    const { backend, prefix, nonce } = await open();
    const one = event("x", 2);
    await reserve(prefix, nonce, one.id, "3?dead.3");
    expect(await backend.readIds(STREAM, [one.id])).toEqual([null]);
    expect(sequencesOf(await appendTo(backend, PARTITIONS, [one]))).toEqual([1]);
    expect(await late(prefix, nonce, 3, "dead.3", one)).toEqual(["void"]);
    expect((await backend.watermarks(STREAM)).map(({ highWatermark }) => highWatermark)).toEqual([0, 0, 1, 0]);
    expect((await backend.readIds(STREAM, [one.id]))[0]).toMatchObject({ partition: 2, sequence: 1 });
    await backend.close();
  });

  test("finds what an owner appended that died before the id was made final, and appends it no second time", async () => {
    const { backend, prefix, nonce } = await open();
    const one = event("x", 3);
    await reserve(prefix, nonce, one.id, "3?dead.3");
    expect(await late(prefix, nonce, 3, "dead.3", one)).toEqual(["ok", expect.any(String), 0]);
    expect((await backend.readIds(STREAM, [one.id]))[0]).toMatchObject({ id: one.id, partition: 3, sequence: 1 });
    const answer = await appendTo(backend, PARTITIONS, [{ ...one, partition: 0 }]);
    expect(answer).toMatchObject({ kind: "appended", events: [{ sequence: 1, duplicate: { partition: 3 } }] });
    expect(await idsOf(prefix)).toMatchObject({ [one.id]: "3:1" });
    await backend.close();
  });

  test("waits for an owner that is only slow", async () => {
    const { backend, prefix, nonce } = await open();
    const one = event("x", 3);
    await reserve(prefix, nonce, one.id, "3?slow.3");
    const appending = appendTo(backend, PARTITIONS, [one]);
    expect(await late(prefix, nonce, 3, "slow.3", one)).toEqual(["ok", expect.any(String), 0]);
    expect(await appending).toMatchObject({ kind: "appended", events: [{ duplicate: { sequence: 1 } }] });
    await backend.close();
  });

  test("leaves nothing reserved: neither when it worked, nor when it was refused", async () => {
    const { backend, prefix } = await open();
    const events = Array.from({ length: 40 }, (_, n) => event(n, n % PARTITIONS));
    await appendTo(backend, PARTITIONS, events);
    const more = Array.from({ length: 8 }, (_, n) => event(n, n % PARTITIONS));
    const refused = await appendTo(backend, PARTITIONS, [...more, { ...(events[0] as NewEvent), payload: '"other"' }]);
    expect(refused).toMatchObject({ kind: "id_conflict", index: 8 });
    const conditional = [...more.slice(1), { ...(more[0] as NewEvent), expectedSequence: 3 }];
    expect(await appendTo(backend, PARTITIONS, conditional)).toMatchObject({ kind: "sequence_conflict", index: 7 });
    const meanings = Object.values(await idsOf(prefix));
    expect(meanings).toHaveLength(40);
    expect(meanings.filter((meaning) => !/^\d:\d+$/.test(meaning))).toEqual([]);
    for (let partition = 0; partition < PARTITIONS; partition++)
      expect(await raw.exists(`${prefix}:{${STREAM}/${partition}}:reserved`)).toBe(0);
    await backend.close();
  });

  test("of the same ids by several at the same time stores each once, and all are told of it", async () => {
    const { backend, prefix } = await open();
    const others = await Promise.all([1, 2, 3].map(() => openBackend({ nodes: cluster.nodes, prefix, notify: false })));
    const events = Array.from({ length: 30 }, (_, n) => event(n, n % PARTITIONS));
    const shuffled = (by: number): NewEvent[] => events.map((_, n) => events[(n * 7 + by) % events.length] as NewEvent);
    const answers = await Promise.all([backend, ...others].map((one, by) => appendTo(one, PARTITIONS, shuffled(by))));
    for (const answer of answers) expect(answer.kind).toBe("appended");
    const marks = await backend.watermarks(STREAM);
    expect(marks.reduce((sum, { highWatermark }) => sum + highWatermark, 0)).toBe(30);
    const stored = await backend.readIds(
      STREAM,
      events.map(({ id }) => id),
    );
    for (const [by, answer] of answers.entries())
      for (const [n, one] of shuffled(by).entries()) expect(sequencesOf(answer)[n]).toBe(stored[events.indexOf(one)]?.sequence);
    for (const one of [backend, ...others]) await one.close();
  });
});
