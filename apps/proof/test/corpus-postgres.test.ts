/** Faults that come with PostgreSQL: open transactions, sessions that end, time zones, planners, channels. Named by their ids. */
import { createServer, type Server } from "node:net";
import { type Lease, Rheo, type RheoErrorCode } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { watch } from "@rheo/testing/internal";
import { startPostgres, startProxy } from "@rheo/testing/servers";
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { numbers, serverOf, until } from "./corpus-stores.ts";

const server = serverOf(() => startPostgres({ fsync: "off", max_connections: "60" }));
/** Partitions of a large stream, and groups that read it. */
const MANY = { partitions: 1_024, groups: 20 } as const;

let schemas = 0;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const open = async (options: { schema?: string; url?: string } = {}): Promise<Rheo> => {
  const { schema = `corpus_${++schemas}`, url = server().url } = options;
  const rheo = await Rheo.open({ backend: postgres({ url, schema, maxConnections: 4 }) });
  ends.push(() => rheo.close());
  return rheo;
};

const connect = async (): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: server().url });
  client.on("error", () => undefined);
  await client.connect();
  ends.push(() => client.end().catch(() => undefined));
  return client;
};

/** Ends every session but the one that asks. */
const terminateAll = async (): Promise<void> => {
  const admin = await connect();
  await admin.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
};

const take = (rheo: Rheo, limit = 10): Promise<Lease[]> => rheo.fetch("s", "g", { limit });
const payloads = (leases: readonly Lease[]): unknown[] => leases.map(({ event }) => event.payload);
const codeOf = (call: Promise<unknown>): Promise<RheoErrorCode | "fine"> =>
  call.then(
    () => "fine" as const,
    (error: { code: RheoErrorCode }) => error.code,
  );

describe("transactions of the user's that stay open", () => {
  test("B01 B03 one that appended and waits keeps its place: nobody passes it, and all come in order", async () => {
    const rheo = await open();
    await rheo.createStream("s", { partitions: 1 });
    await rheo.createGroup("s", "g", {});
    const slow = await connect();
    await slow.query("BEGIN");
    await rheo.append("s", { payload: "slow" }, { transaction: slow });
    const fast = rheo.append("s", { payload: "fast" });
    expect(await take(rheo)).toEqual([]);
    expect(await rheo.lag("s", "g")).toMatchObject({ lag: 0, partitions: [{ frontier: 0, highWatermark: 0 }] });
    await slow.query("COMMIT");
    expect((await fast).sequence).toBe(2);
    const leases = await take(rheo);
    expect(payloads(leases)).toEqual(["slow", "fast"]);
  });

  test("B05 a reader over all partitions that passed one while another was held open comes back for it", async () => {
    const rheo = await open();
    await rheo.createStream("s", { partitions: 2 });
    const stop = new AbortController();
    const seen: unknown[] = [];
    const slow = await connect();
    await slow.query("BEGIN");
    await rheo.append("s", { payload: "slow", partition: 0 }, { transaction: slow });
    await rheo.append("s", { payload: "fast", partition: 1 });
    const reading = (async () => {
      for await (const { payload } of rheo.tail("s", { signal: stop.signal })) seen.push(payload);
    })();
    await until("the fast one was read", () => seen.length === 1);
    await slow.query("COMMIT");
    await until("the slow one was read", () => seen.length === 2);
    stop.abort();
    await reading;
    expect(seen).toEqual(["fast", "slow"]);
  });

  test("B04 fifty that were rolled back, and a session that idles in a transaction, hold nothing up", async () => {
    const rheo = await open();
    await rheo.createStream("s", { partitions: 1 });
    const idle = await connect();
    await idle.query("BEGIN");
    await idle.query("CREATE TEMP TABLE mine (n int)");
    const user = await connect();
    for (const n of numbers(50)) {
      await user.query("BEGIN");
      await rheo.append("s", { payload: n }, { transaction: user });
      await user.query("ROLLBACK");
    }
    await rheo.append("s", { payload: "kept" });
    await rheo.createGroup("s", "g", {});
    const leases = await take(rheo);
    expect(leases.map(({ sequence, event }) => [sequence, event.payload])).toEqual([[1, "kept"]]);
    for (const lease of leases) await rheo.ack(lease);
    expect((await rheo.lag("s", "g")).lag).toBe(0);
  });
});

describe("sessions that end", () => {
  test("B97 in a pool of the user's that nobody listens to: idle, held and listening ones; the next call works", async () => {
    const pool = new pg.Pool({ connectionString: server().url, max: 4 });
    pool.on("error", () => undefined); // the server ends connections when it stops
    ends.push(() => pool.end());
    const rheo = await Rheo.open({ backend: postgres({ pool, schema: `corpus_${++schemas}` }) });
    ends.push(() => rheo.close());
    await rheo.createStream("s", { partitions: 1 });
    await rheo.createGroup("s", "g", {});
    for (const n of numbers(5)) {
      const held = await pool.connect();
      await held.query("BEGIN");
      await terminateAll();
      expect(await codeOf(rheo.append("s", { payload: n, id: "held" }, { transaction: held }))).not.toBe("fine");
      held.release(true);
      await until("a call works again", async () => (await codeOf(rheo.append("s", { id: `e${n}`, payload: n }))) === "fine");
    }
    const leases = await take(rheo);
    expect(payloads(leases)).toEqual(numbers(5));
  });

  test("B99 between the statements of a transaction: nothing of it was done, neither append nor ack", async () => {
    const rheo = await open();
    await rheo.createStream("s", { partitions: 1 });
    await rheo.createGroup("s", "g", {});
    await rheo.append("s", { payload: "first" });
    const [lease] = await take(rheo);
    if (lease === undefined) return expect.unreachable("nothing came");
    const user = await connect();
    await user.query("BEGIN");
    await rheo.append("s", { payload: "second" }, { transaction: user });
    await terminateAll();
    expect(await codeOf(rheo.ack(lease, { transaction: user }))).not.toBe("fine");
    await until("the store is back", async () => (await codeOf(rheo.ping())) === "fine");
    expect(await rheo.lag("s", "g")).toMatchObject({ lag: 1, partitions: [{ highWatermark: 1, frontier: 0 }] });
    await rheo.ack(lease);
    expect((await rheo.lag("s", "g")).lag).toBe(0);
  });

  test("B100 one that listens, and a server that refuses for a while: few attempts meanwhile, and woken after", async () => {
    const proxy = await startProxy(server().port);
    ends.push(() => proxy.stop());
    let attempts = 0;
    const refusing = await listen(
      createServer((socket) => {
        attempts += 1;
        socket.destroy();
      }),
    );
    const schema = `corpus_${++schemas}`;
    const here = postgres({ url: server().url.replace(String(server().port), String(proxy.port)), schema });
    await here.open({ clock: null, migrate: true });
    ends.push(() => here.close());
    const other = await open({ schema });
    await other.createStream("s", { partitions: 1 });
    const { next, streams } = watch(here);
    proxy.aim(refusing);
    proxy.cut();
    await until("it tries again", () => attempts >= 3);
    const triedIn = attempts;
    const woken = next();
    proxy.aim(server().port);
    expect(await woken).toBeNull();
    expect(triedIn).toBeLessThan(10);
    await until("it is quiet", async () => {
      const count = streams.length;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return streams.length === count;
    });
    const again = next();
    await other.append("s", { payload: 1 });
    await again;
  });
});

/** Starts a server; its port. */
const listen = async (refusing: Server): Promise<number> => {
  await new Promise<void>((resolve) => refusing.listen(0, "127.0.0.1", resolve));
  ends.push(() => new Promise((resolve) => refusing.close(resolve)));
  const address = refusing.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return address.port;
};

describe("settings of the server and of the machine", () => {
  test("B106 whatever the time zones of the server, the session and the process, times and durations are the same", async () => {
    const zone = process.env.TZ;
    process.env.TZ = "America/St_Johns";
    try {
      const admin = await connect();
      await admin.query("ALTER DATABASE postgres SET timezone TO 'Asia/Kolkata'");
      const rheo = await open({ url: `${server().url}?options=-c%20TimeZone%3DPacific/Chatham` });
      await rheo.createStream("s", { partitions: 1 });
      await rheo.createGroup("s", "g", { leaseMs: 60_000 });
      // on both sides of a change of clocks
      const given = ["2026-03-08T05:29:59.999Z", "2026-03-08T05:30:00.000Z", "2026-11-01T04:30:00.001Z"];
      await rheo.appendMany(
        "s",
        given.map((time) => ({ payload: time, timestamp: new Date(time) })),
      );
      const now = await rheo.append("s", { payload: "now" });
      const leases = await take(rheo);
      expect(leases.slice(0, 3).map(({ event }) => event.timestamp.toISOString())).toEqual(given);
      for (const { leasedAt, expiresAt } of leases) {
        expect(expiresAt.getTime() - leasedAt.getTime()).toBe(60_000);
        expect(Math.abs(leasedAt.getTime() - now.timestamp.getTime())).toBeLessThan(60_000);
      }
      const { rows } = await admin.query("SELECT extract(epoch FROM now()) * 1000 AS ms");
      expect(Math.abs(now.timestamp.getTime() - Number(rows[0].ms))).toBeLessThan(60_000);
      const [last] = leases.slice(-1);
      if (last === undefined) return expect.unreachable("nothing came");
      await rheo.nack(last, { reason: "later", delayMs: 5_000 });
      const { rows: due } = await admin.query(
        `SELECT round(extract(epoch FROM due_at - failed_at) * 1000)::int AS ms FROM corpus_${schemas}.exceptions WHERE due_at IS NOT NULL AND state = 'retrying'`,
      );
      expect(due).toEqual([{ ms: 5_000 }]);
      expect(
        await rheo.query("s", { from: new Date("2026-03-08T05:30:00Z"), to: new Date("2026-03-08T05:30:01Z") }),
      ).toHaveLength(1);
      await admin.query("ALTER DATABASE postgres RESET timezone");
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  test("B103 with stale statistics and plans of any kind a fetch leases what it returns, and no more than its limit", async () => {
    const off = ["hashjoin", "mergejoin", "indexscan", "bitmapscan"].map((what) => `-c%20enable_${what}%3Doff`).join("%20");
    const schema = `corpus_${++schemas}`;
    const rheo = await open({ schema, url: `${server().url}?options=${off}` });
    await rheo.createStream("s", { partitions: 2 });
    await rheo.createGroup("s", "g", {});
    for (const _ of numbers(2))
      await rheo.appendMany(
        "s",
        Array.from({ length: 5_000 }, (_, n) => ({ payload: n, partition: n % 2 })),
      );
    const held: Lease[] = [];
    for (const _ of numbers(4)) {
      const fetched = await Promise.all(numbers(8).map((n) => rheo.fetch("s", "g", { limit: 5, consumerId: `c${n}` })));
      for (const leases of fetched) expect(leases.length).toBeLessThanOrEqual(5);
      held.push(...fetched.flat());
      for (const lease of fetched.flat().slice(0, 10)) await rheo.nack(lease, { reason: "again", delayMs: 0 });
      held.splice(-fetched.flat().length, Math.min(10, fetched.flat().length));
    }
    const places = held.map(({ partition, sequence, token }) => `${partition}/${sequence}/${token}`);
    const stored = (await rheo.leases("s", "g")).map(({ partition, sequence, token }) => `${partition}/${sequence}/${token}`);
    expect(stored.toSorted()).toEqual(places.toSorted());
  });

  test("B88 payloads beyond what a notification holds, names of full length and a batch over a thousand partitions are stored, and wake", async () => {
    const rheo = await Rheo.open({ backend: postgres({ url: server().url, schema: `corpus_${++schemas}` }), defaults: {} });
    ends.push(() => rheo.close());
    const name = `n${"x".repeat(119)}`;
    await rheo.createStream(name, { partitions: MANY.partitions });
    const other = await open({ schema: `corpus_${schemas}` });
    await other.createGroup(name, name, {});
    for (const bytes of [7_900, 8_100, 900_000]) {
      const waiting = other.fetch(name, name, { waitMs: 10_000, consumerId: name });
      await rheo.append(name, { payload: "y".repeat(bytes) });
      const [lease] = await waiting;
      expect(lease?.event.payload).toBe("y".repeat(bytes));
    }
    const batch = Array.from({ length: MANY.partitions }, (_, partition) => ({ payload: partition, partition }));
    expect(await rheo.appendMany(name, batch)).toHaveLength(MANY.partitions);
    expect((await other.lag(name, name)).lag).toBe(MANY.partitions + 3);
  });

  test("B140 a thousand partitions and twenty groups at rest take no more connections, and the next event reaches each group", async () => {
    const rheo = await open();
    await rheo.createStream("s", { partitions: MANY.partitions });
    const groups = numbers(MANY.groups).map((n) => `g${n}`);
    const reached = new Set<string>();
    const app = await supervise({
      rheo,
      consumers: groups.map((group) => ({
        stream: "s",
        group,
        createGroup: {},
        pollMs: 60_000,
        handler: handler(() => void reached.add(group)),
      })),
    });
    ends.push(() => app.stop());
    await until("all are at rest", () => app.children().every(({ state }) => state === "running"));
    const admin = await connect();
    const { rows } = await admin.query(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
    // four to work with, and one that listens
    expect(rows[0].count).toBeLessThanOrEqual(5);
    await rheo.append("s", { payload: 1, partition: 777 });
    await until("each group has it", () => reached.size === groups.length);
    const page = await rheo.listGroups("s");
    expect(page.length).toBe(MANY.groups);
  });
});

describe("numbers beyond what 32 bits or a text in order would hold", () => {
  test.each([9, 99, 2 ** 31 - 1, 2 ** 51, Number.MAX_SAFE_INTEGER - 5])(
    "B87 sequences and tokens go on after %i, in order",
    async (seed) => {
      const rheo = await open();
      await rheo.createStream("s", { partitions: 1 });
      const admin = await connect();
      await admin.query(`UPDATE corpus_${schemas}.partitions SET first_sequence = $1`, [seed + 1]);
      await rheo.createGroup("s", "g", {});
      await admin.query(`UPDATE corpus_${schemas}.cursors SET token = $1, floor = $1`, [seed]);
      await rheo.appendMany(
        "s",
        numbers(5).map((payload) => ({ payload })),
      );
      const leases = [...(await take(rheo, 2)), ...(await take(rheo, 3))];
      expect(leases.map(({ sequence }) => sequence)).toEqual(numbers(5).map((n) => seed + n));
      expect(leases.map(({ token }) => token)).toEqual([1, 1, 2, 2, 2].map((n) => seed + n));
      for (const lease of leases.slice(0, 4)) await rheo.ack(lease);
      expect(await rheo.lag("s", "g")).toMatchObject({ lag: 1, partitions: [{ frontier: seed + 4, highWatermark: seed + 5 }] });
      expect(await rheo.query("s", { afterSequence: seed + 3 })).toHaveLength(2);
    },
  );

  test("B87 beyond the last exact number an append is refused, and none is given twice", async () => {
    const rheo = await open();
    await rheo.createStream("s", { partitions: 1 });
    const admin = await connect();
    await admin.query(`UPDATE corpus_${schemas}.partitions SET first_sequence = $1`, [Number.MAX_SAFE_INTEGER]);
    expect((await rheo.append("s", { payload: "last" })).sequence).toBe(Number.MAX_SAFE_INTEGER);
    expect(await codeOf(rheo.append("s", { payload: "one more" }))).toBe("unavailable");
    expect((await rheo.streamInfo("s")).partitions).toMatchObject([{ highWatermark: Number.MAX_SAFE_INTEGER }]);
  });
});
