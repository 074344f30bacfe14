/** Commands that look: what they say to people, and as JSON. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { Running, run, values } from "./run.ts";
import { lines, openScene, type Scene, steady } from "./scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

/** What it says to people, on a pipe. */
const text = async (args: string): Promise<string> => {
  const { code, out, err } = await run(args, { store: scene.store });
  expect([code, err.replace(/^(More about|There (is|are|may be)) .*\n/, "")]).toEqual([0, ""]);
  return steady(out);
};
const json = async (args: string): Promise<unknown[]> => {
  const { code, out, err } = await run(`${args} --json`, { store: scene.store });
  expect([code, err]).toEqual([0, ""]);
  return values(out);
};

describe("streams", () => {
  test("as a table", async () => {
    expect(await text("streams")).toBe(
      lines(`
        STREAM  PARTITIONS  EVENTS  GROUPS  CREATED
        empty  1  0  0  AGE
        orders  2  7  2  AGE
      `),
    );
  });
  test("as JSON", async () => {
    expect(await json("streams")).toMatchObject([
      { name: "empty", partitions: 1, events: 0, groups: 0 },
      { name: "orders", partitions: 2, events: 7, groups: 2 },
    ]);
  });
});

describe("groups", () => {
  test("as a table", async () => {
    expect(await text("groups orders")).toBe(
      lines(`
        GROUP  LAG  INFLIGHT  RETRYING  DEAD  MEMBERS  OLDEST  STATE
        audit  7  0  0  0  0  AGE  paused
        billing  5  1  1  1  1  AGE  active
      `),
    );
  });
  test("as JSON", async () => {
    expect(await json("groups orders")).toMatchObject([
      { name: "audit", lag: 7, paused: true },
      { name: "billing", lag: 5, inflight: 1, retrying: 1, deadLetters: 1, members: [{ consumerId: "worker-1", leases: 1 }] },
    ]);
  });
  test("of a stream without any, says how to make one", async () => {
    const { code, err } = await run("groups empty", { store: scene.store });
    expect([code, err]).toEqual([0, 'Stream "empty" has no group. Make one with: rheo create-group empty NAME\n']);
  });
});

describe("lag", () => {
  test("as a table", async () => {
    expect(await text("lag orders billing")).toBe(
      lines(`
        PARTITION  FIRST  FRONTIER  LAST  LAG  SKIPPED
                0  1  2  5  3  0
                1  1  0  2  2  0

        lag 5
      `),
    );
  });
  test("as JSON", async () => {
    expect(await json("lag orders billing")).toEqual([
      {
        stream: "orders",
        group: "billing",
        lag: 5,
        partitions: [
          { partition: 0, frontier: 2, highWatermark: 5, lag: 3, firstSequence: 1, skipped: 0 },
          { partition: 1, frontier: 0, highWatermark: 2, lag: 2, firstSequence: 1, skipped: 0 },
        ],
      },
    ]);
  });
});

describe("info", () => {
  test("of a group, as text", async () => {
    expect(await text("info orders billing")).toBe(
      lines(`
        stream  orders
        group  billing
        state  active
        lag  5
        inflight  1
        retrying  1
        dead letters  1
        oldest unsettled  TIME
        created  TIME
        max attempts  3
        lease  AGE
        ordering  none
        retry  AGE to AGE, factor 2, jitter 0.2
        filter  –
        max inflight  –

        MEMBER  LEASES  LAST SEEN
        worker-1  1  AGE
      `),
    );
  });
  test("of a group, as JSON", async () => {
    expect(await json("info orders billing")).toMatchObject([
      { stream: "orders", name: "billing", lag: 5, options: { maxAttempts: 3 } },
    ]);
  });
  test("of a stream, as text", async () => {
    expect(await text("info orders")).toBe(
      lines(`
        stream  orders
        partitions  2
        events  7
        created  TIME

        PARTITION  FIRST  LAST  EVENTS
                0  1  5  5
                1  1  2  2
      `),
    );
  });
  test("of a stream, as JSON", async () => {
    expect(await json("info orders")).toMatchObject([
      { name: "orders", events: 7, partitions: [{ highWatermark: 5 }, { highWatermark: 2 }] },
    ]);
  });
});

describe("explain", () => {
  test("names what holds each partition, the furthest behind first", async () => {
    expect(await text("explain orders billing")).toBe(
      lines(`
        PARTITION  LAG  SEQUENCE  EVENT  KEY  STATE  ATTEMPT  HOLDER  SINCE  UNTIL  LAST ERROR
                0  3  3  o3  a  retrying  1  –  AGE  AGE  busy
                1  2  1  p1  c  pending  0  –  –  –  –
      `),
    );
  });
  test("as JSON", async () => {
    expect(await json("explain orders billing")).toMatchObject([
      {
        stream: "orders",
        group: "billing",
        partition: 0,
        sequence: 3,
        state: "retrying",
        lastError: "busy",
        eventId: "o3",
        key: "a",
      },
      { partition: 1, sequence: 1, state: "pending", eventId: "p1", key: "c" },
    ]);
  });
  test("of a group that has caught up, says so", async () => {
    await scene.rheo.ensureGroup("empty", "idle");
    expect(await text("explain empty idle")).toBe("Nothing: the group has caught up.\n");
    await scene.rheo.deleteGroup("empty", "idle", { confirm: true });
  });
});

describe("dead-letters", () => {
  test("as a table", async () => {
    expect(await text("dead-letters orders billing")).toBe(
      lines(String.raw`
         AT  EVENT  KEY  ATTEMPTS  CONSUMER  DEAD  REASON
        0@2  o2  b  1  worker-1  AGE  card refused \x1b[2J\x9b31m\x07\u202e
      `),
    );
  });
  test("with --stack, the lines of each stay lines", async () => {
    await using other = await openScene();
    const [lease] = await other.rheo.fetch("orders", "billing", { limit: 1, partitions: [1] });
    if (lease !== undefined) await other.rheo.reject(lease, { reason: new Error("no stock") });
    const { out } = await run("dead-letters orders billing --stack", { store: other.store });
    expect(out).toMatch(/^ {2}Error: no stock\n {6}at /m);
  });
  test("as JSON", async () => {
    expect(await json("dead-letters orders billing")).toMatchObject([
      { eventId: "o2", attempts: 1, consumerId: "worker-1", event: { id: "o2", payload: { total: 20 } } },
    ]);
  });
  test("by a filter", async () => {
    expect(await json("dead-letters orders billing --where payload.total>20")).toEqual([]);
  });
  test("page by page: a full one tells where the next begins", async () => {
    const { err } = await run("dead-letters orders billing --limit 1", { store: scene.store });
    expect(err).toBe("There may be more: --after o2\n");
    expect(await json("dead-letters orders billing --limit 1 --after o2")).toEqual([]);
  });
});

describe("leases", () => {
  test("as a table", async () => {
    expect(await text("leases orders billing")).toBe(
      lines(`
         AT  TOKEN  ATTEMPT  HOLDER  LEASED  RUNS OUT
        0@4  1  1  worker-1  AGE  AGE
      `),
    );
  });
  test("as JSON", async () => {
    expect(await json("leases orders billing")).toMatchObject([
      { partition: 0, sequence: 4, consumerId: "worker-1", attempt: 1 },
    ]);
  });
  test("when there is none, says so", async () => {
    expect(await text("leases orders audit")).toBe("Nobody holds a lease.\n");
  });
});

describe("query", () => {
  test("as a table", async () => {
    expect(await text("query orders --partition 1")).toBe(
      lines(`
         AT  TIMESTAMP  ID  TYPE  KEY  PAYLOAD
        1@1  2026-01-31T12:00:05.000Z  p1  placed  c  {"total":3}
        1@2  2026-01-31T12:00:06.000Z  p2  paid  –  7
      `),
    );
  });
  test("as JSON, which gives the payload as it is", async () => {
    expect(await json("query orders --key b")).toEqual([
      {
        id: "o2",
        stream: "orders",
        partition: 0,
        sequence: 2,
        timestamp: "2026-01-31T12:00:02.000Z",
        type: "placed",
        key: "b",
        metadata: {},
        payload: { total: 20, currency: "USD" },
      },
    ]);
  });
  test.for<readonly [string, string]>([
    ["--type paid", "o3 o4 p2"],
    ["--key 42", "o4"],
    ["--correlation-id p1", "p2 o5"],
    ["--partition 0 --after 2 --until 4", "o3 o4"],
    ["--after 0:4,1:1", "p2 o5"],
    ["--from 2026-01-31T12:00:05Z --to 2026-01-31T12:00:07Z", "p1 p2"],
    ["--order desc --limit 2", "o5 p2"],
    ["--where payload.total>=20", "o2 o4"],
    ["--where payload.total<20 --where payload.currency=EUR", "o1"],
    ["--where payload.currency!=EUR --type placed", "o2 p1"],
    ["--where key=42", "o4"],
    ["--where type^=pl", "o1 o2 p1"],
    ["--where payload=7", "p2"],
    ["--where payload=null", "o5"],
    ['--where payload.currency="EUR"', "o1 o4"],
    ['--where {"payload.total":{"in":[3,42]}}', "o4 p1"],
    ['--where {"or":[{"id":"o1"},{"id":"p2"}]}', "o1 p2"],
    ["--all --type placed", "o1 o2 p1"],
  ])("%s", async ([flags, ids]) => {
    const events = (await json(`query orders ${flags}`)) as { readonly id: string }[];
    expect(events.map(({ id }) => id).join(" ")).toBe(ids);
  });
  test("--all prints an event on each line", async () => {
    expect(await text("query orders --all --partition 1")).toBe(
      '1@1 2026-01-31T12:00:05.000Z p1 placed key=c {"total":3}\n1@2 2026-01-31T12:00:06.000Z p2 paid 7\n',
    );
  });
  test("--count", async () => {
    expect([await text("query orders --count --type paid"), await json("query orders --count")]).toEqual([
      "3\n",
      [{ count: 7, isExact: true }],
    ]);
  });
  test("that stops at its limit says that there is more", async () => {
    const { err } = await run("query orders --limit 3", { store: scene.store });
    expect(err).toBe("There are more than 3: raise --limit, or --all\n");
  });
});

describe("event", () => {
  test("as text, with where every group stands", async () => {
    expect(await text("event orders o2")).toBe(
      lines(String.raw`
        id  o2
        stream  orders
        partition  0
        sequence  2
        timestamp  TIME
        type  placed
        key  b

        {
          "total": 20,
          "currency": "USD"
        }

        GROUP  STATE  ATTEMPT  HOLDER  SINCE  UNTIL  LAST ERROR
        audit  pending  0  –  –  –  –
        billing  dead  1  –  AGE  –  card refused \x1b[2J\x9b31m\x07\u202e
      `),
    );
  });
  test("as JSON", async () => {
    expect(await json("event orders o1")).toMatchObject([
      {
        event: { id: "o1" },
        groups: [
          { group: "audit", state: "pending" },
          { group: "billing", state: "acked" },
        ],
      },
    ]);
  });
  test("that is not there", async () => {
    const { code, out, err } = await run("event orders nope", { store: scene.store });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toBe('rheo: Stream "orders" has no event "nope": it was never there, or was trimmed. (event_not_found)\n');
  });
});

describe("lineage", () => {
  test("as a tree, in which the event asked for is marked", async () => {
    expect(await text("lineage orders p2")).toBe(
      lines(`
        orders 1@1 p1 placed key=c
          orders 1@2 p2 paid ←
            orders 0@5 o5 sent
      `),
    );
  });
  test("as JSON", async () => {
    expect(await json("lineage orders p2")).toMatchObject([
      {
        event: { id: "p2" },
        causes: [{ id: "p1" }],
        roots: [{ event: { id: "p1" }, effects: [{ effects: [{ event: { id: "o5" } }] }] }],
      },
    ]);
  });
});

describe("indexes", () => {
  test("as a table and as JSON", async () => {
    await scene.rheo.createIndex("orders", "payload.total");
    expect([await text("indexes orders"), await json("indexes orders")]).toEqual([
      "PATH\npayload.total\n",
      [{ stream: "orders", path: "payload.total" }],
    ]);
  });
});

describe("tail", () => {
  test("gives the last events, then each new one, and ends at its limit", async () => {
    await using other = await openScene();
    const tailing = new Running("tail orders --last 2 --limit 3 --json", { store: other.store });
    await until("it has told what is there", () => values(tailing.out).length === 2);
    await other.rheo.append("orders", { id: "new", payload: 1 });
    expect(await tailing.code).toBe(0);
    expect(values(tailing.out)).toMatchObject([{ id: "p2" }, { id: "o5" }, { id: "new" }]);
  });
  test("with --after begins there", async () => {
    const { out } = await run("tail orders --partition 1 --after 1 --limit 1", { store: scene.store });
    expect(out).toBe("1@2 2026-01-31T12:00:06.000Z p2 paid 7\n");
  });
});

test("without a stream, says how to make one", async () => {
  await using other = await openScene();
  for (const name of ["orders", "empty"]) await other.rheo.deleteStream(name, { confirm: true });
  const { code, out, err } = await run("streams --json", { store: other.store });
  expect([code, out, err]).toEqual([0, "", ""]);
  expect((await run("streams", { store: other.store })).err).toMatch(
    /There is no stream yet. Make one with: rheo create-stream NAME/,
  );
});
