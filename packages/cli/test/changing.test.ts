/** Commands that change something: a dry run changes nothing, what cannot be undone is asked for, and both answers agree. */
import { describe, expect, test } from "vitest";
import { type RunOptions, run, values } from "./run.ts";
import { openScene, type Scene } from "./scene.ts";

/** What the store says of itself, as far as these commands change it. */
const state = async ({ rheo }: Scene): Promise<unknown> => {
  const streams = await Promise.all((await rheo.listStreams()).map(({ name }) => rheo.streamInfo(name)));
  const groups = await Promise.all(streams.map(async ({ name }) => rheo.listGroups(name)));
  const infos = await Promise.all(groups.flat().map(({ stream, name }) => rheo.groupInfo(stream, name)));
  const indexes = await Promise.all(streams.map(({ name }) => rheo.listIndexes(name)));
  return JSON.parse(JSON.stringify({ streams, infos, indexes }));
};

interface Case {
  readonly args: string;
  /** What a dry run says. */
  readonly would: string;
  /** What it says when it is done. */
  readonly told: string;
  readonly dry: object;
  readonly data: object;
  readonly asks?: boolean;
  readonly changed: (scene: Scene) => Promise<void>;
}

const cases: Readonly<Record<string, Case>> = {
  "create-stream": {
    args: "create-stream fresh --partitions 3",
    would: 'Would create stream "fresh" with 3 partitions.',
    told: 'Stream "fresh" has 3 partitions.',
    dry: { stream: "fresh", partitions: 3, created: true },
    data: { stream: "fresh", partitions: 3, created: true },
    changed: async ({ rheo }) => expect((await rheo.streamInfo("fresh")).partitions.length).toBe(3),
  },
  "create-group": {
    args: "create-group orders fresh --start 0:4,1:1 --max-attempts 7 --lease 90s --retry-min 2s --retry-factor 3 --ordering key --filter type=paid",
    would: 'Would create group "fresh" of stream "orders".',
    told: 'Group "fresh" of stream "orders" is there.',
    dry: { stream: "orders", group: "fresh", created: true },
    data: {
      stream: "orders",
      group: "fresh",
      created: true,
      options: {
        maxAttempts: 7,
        leaseMs: 90_000,
        retry: { minMs: 2_000, maxMs: 300_000, factor: 3, jitter: 0.2 },
        ordering: "key",
        filter: { type: { eq: "paid" } },
        maxInflight: null,
      },
    },
    changed: async ({ rheo }) => {
      const { partitions } = await rheo.lag("orders", "fresh");
      expect(partitions.map(({ frontier }) => frontier)).toEqual([4, 1]);
    },
  },
  "update-group": {
    args: "update-group orders billing --max-attempts 9 --max-inflight 50",
    would: 'Would change maxAttempts, maxInflight of group "billing" of stream "orders".',
    told: 'Changed maxAttempts, maxInflight of group "billing".',
    dry: { stream: "orders", group: "billing", options: { maxAttempts: 9, maxInflight: 50, leaseMs: 3_600_000 } },
    data: { stream: "orders", group: "billing", options: { maxAttempts: 9, maxInflight: 50, leaseMs: 3_600_000 } },
    changed: async ({ rheo }) => expect((await rheo.groupInfo("orders", "billing")).options.maxAttempts).toBe(9),
  },
  pause: {
    args: "pause orders billing",
    would: 'Would pause group "billing" of stream "orders".',
    told: 'Group "billing" is paused. It goes on with: rheo resume orders billing',
    dry: { stream: "orders", group: "billing", paused: true },
    data: { stream: "orders", group: "billing", paused: true },
    changed: async ({ rheo }) => expect((await rheo.groupInfo("orders", "billing")).paused).toBe(true),
  },
  resume: {
    args: "resume orders audit",
    would: 'Would resume group "audit" of stream "orders".',
    told: 'Group "audit" goes on.',
    dry: { stream: "orders", group: "audit", paused: false },
    data: { stream: "orders", group: "audit", paused: false },
    changed: async ({ rheo }) => expect((await rheo.groupInfo("orders", "audit")).paused).toBe(false),
  },
  replay: {
    args: "replay orders billing --from-sequence 0",
    would: 'Would replay 4 deliveries of group "billing" of stream "orders".',
    told: "Re-opened: 4 deliveries.",
    dry: { stream: "orders", group: "billing", reopened: 4 },
    data: { stream: "orders", group: "billing", reopened: 4 },
    asks: true,
    changed: async ({ rheo }) => expect((await rheo.lag("orders", "billing")).lag).toBe(7),
  },
  redrive: {
    args: "redrive orders billing --id o2 nope",
    would: 'Would redrive 1 dead letter of group "billing" of stream "orders".',
    told: "Redriven: 1 dead letter.",
    dry: { stream: "orders", group: "billing", reopened: 1 },
    data: { stream: "orders", group: "billing", reopened: 1 },
    changed: async ({ rheo }) => expect(await rheo.deadLetters("orders", "billing")).toEqual([]),
  },
  reset: {
    args: "reset orders billing --start latest",
    would: 'Would reset group "billing" of stream "orders" to latest: 1 dead letter and 1 lease are dropped.',
    told: 'Group "billing" begins anew; 0 deliveries re-opened.',
    dry: { stream: "orders", group: "billing", deadLetters: 1, inflight: 1 },
    data: { stream: "orders", group: "billing", deadLetters: 1, inflight: 1, reopened: 0 },
    asks: true,
    changed: async ({ rheo }) => expect((await rheo.groupInfo("orders", "billing")).lag).toBe(0),
  },
  trim: {
    args: "trim orders --keep-last 1 --force",
    would: 'Would remove 5 events of stream "orders".',
    told: "Removed: 5 events.",
    dry: { stream: "orders", removed: 5, heldBack: 0 },
    data: { stream: "orders", removed: 5, heldBack: 0 },
    asks: true,
    changed: async ({ rheo }) => expect((await rheo.streamInfo("orders")).events).toBe(2),
  },
  "purge-dead-letters": {
    args: "purge-dead-letters orders billing --where payload.total=20",
    would: 'Would purge 1 dead letter of group "billing" of stream "orders".',
    told: "Purged: 1 dead letter.",
    dry: { stream: "orders", group: "billing", purged: 1 },
    data: { stream: "orders", group: "billing", purged: 1 },
    asks: true,
    changed: async ({ rheo }) => expect(await rheo.deadLetters("orders", "billing")).toEqual([]),
  },
  "delete-stream": {
    args: "delete-stream orders",
    would: 'Would delete stream "orders" with 7 events and 2 groups.',
    told: 'Stream "orders" is gone.',
    dry: { stream: "orders", events: 7, groups: 2 },
    data: { stream: "orders", events: 7, groups: 2 },
    asks: true,
    changed: async ({ rheo }) => expect((await rheo.listStreams()).map(({ name }) => name)).toEqual(["empty"]),
  },
  "delete-group": {
    args: "delete-group orders billing",
    would: 'Would delete group "billing" of stream "orders" with a lag of 5, 1 lease and 1 dead letter.',
    told: 'Group "billing" is gone.',
    dry: { stream: "orders", group: "billing", lag: 5, inflight: 1, deadLetters: 1 },
    data: { stream: "orders", group: "billing", lag: 5, inflight: 1, deadLetters: 1 },
    asks: true,
    changed: async ({ rheo }) => expect((await rheo.listGroups("orders")).map(({ name }) => name)).toEqual(["audit"]),
  },
  "create-index": {
    args: "create-index orders payload.total",
    would: 'Would index payload.total of stream "orders".',
    told: 'payload.total of stream "orders" has an index.',
    dry: { stream: "orders", path: "payload.total", created: true },
    data: { stream: "orders", path: "payload.total", created: true },
    changed: async ({ rheo }) => expect(await rheo.listIndexes("orders")).toEqual(["payload.total"]),
  },
  "drop-index": {
    args: "drop-index orders payload.total",
    would: "Would do nothing: payload.total has no index.",
    told: "payload.total had no index.",
    dry: { stream: "orders", path: "payload.total", dropped: false },
    data: { stream: "orders", path: "payload.total", dropped: false },
    changed: async ({ rheo }) => expect(await rheo.listIndexes("orders")).toEqual([]),
  },
};

describe.for(Object.entries(cases))("%s", ([, { args, would, told, dry, data, asks = false, changed }]) => {
  const yes = asks ? " --yes" : "";

  test("--dry-run says what would happen, as text and as JSON, and changes nothing", async () => {
    await using scene = await openScene();
    const before = await state(scene);
    expect(await run(`${args} --dry-run`, scene)).toEqual({ code: 0, out: `${would}\n`, err: "" });
    const { out } = await run(`${args} --dry-run --json`, scene);
    expect(values(out)).toMatchObject([{ dryRun: true, ...dry }]);
    expect(await state(scene)).toEqual(before);
  });

  test("does it, and says so", async () => {
    await using scene = await openScene();
    expect(await run(`${args}${yes}`, scene)).toEqual({ code: 0, out: `${told}\n`, err: "" });
    await changed(scene);
  });

  test("does it, and says so as JSON", async () => {
    await using scene = await openScene();
    const { code, out, err } = await run(`${args}${yes} --json`, scene);
    expect([code, values(out), err]).toMatchObject([0, [{ dryRun: false, ...data }], ""]);
    await changed(scene);
  });

  if (!asks) return;
  const order = would
    .replace("Would ", "")
    .replace(/^./, (first) => first.toUpperCase())
    .replace(/\.$/, "");

  test("without a terminal nothing is changed, and 2 says to add --yes", async () => {
    await using scene = await openScene();
    const before = await state(scene);
    const { code, out, err } = await run(args, scene);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toBe(
      `rheo: ${order}? This cannot be undone. Add --yes if you mean it, or --dry-run to see what it would do. (confirm_required)\n`,
    );
    expect(await state(scene)).toEqual(before);
  });

  test("at a terminal it asks: y does it", async () => {
    await using scene = await openScene();
    const { code, err } = await run(args, { ...scene, columns: 100, stdin: ["y", "\n"], env: { NO_COLOR: "1" } });
    expect([code, err.startsWith(`${order}? This cannot be undone. [y/N] `)]).toEqual([0, true]);
    await changed(scene);
  });

  test.for([["n\n"], ["\n"], ["yesterday\n"]])("at a terminal it asks: %j changes nothing", async (stdin) => {
    await using scene = await openScene();
    const before = await state(scene);
    const { code, err } = await run(args, { ...scene, columns: 100, stdin, env: { NO_COLOR: "1" } });
    expect([code, err]).toEqual([1, expect.stringMatching(/Nothing was changed\.\n$/)]);
    expect(await state(scene)).toEqual(before);
  });
});

describe("what is wrong is refused before anything is changed", () => {
  const options = async (scene: Scene, args: string): Promise<readonly [number, string]> => {
    const given: RunOptions = { store: scene.store };
    const { code, err } = await run(args, given);
    return [code, err];
  };

  test.for<readonly [string, number, RegExp]>([
    ["create-stream orders", 1, /Stream "orders" exists already. With --if-missing that is fine. \(already_exists\)/],
    ["create-stream -- -x", 2, /A stream name has 1–120 characters/],
    ["create-group nowhere g", 1, /Stream "nowhere" does not exist/],
    ["create-group orders billing", 1, /Group "billing" of stream "orders" exists already/],
    ["create-group orders g --start soon", 2, /Give earliest, latest, a sequence such as 42, or a time/],
    ["create-group orders g --max-attempts 0", 2, /maxAttempts is a whole number from 1/],
    ["update-group orders billing", 2, /Say what to change, such as --max-attempts 10/],
    ["replay orders billing --yes", 2, /Say what to replay: --from-sequence, --from, or what matches/],
    ["replay orders billing --from-sequence 99 --yes", 1, /nothing_to_replay/],
    ["replay orders billing --from-sequence 0 --partitions 7 --yes", 2, /There is no partition 7/],
    ["redrive orders billing", 2, /Choose dead letters by one of --id, --where and --all/],
    ["redrive orders billing --all --id o2", 2, /Choose dead letters by one of/],
    ["trim orders --yes", 2, /Say what to remove by one of --before-sequence, --before and --keep-last/],
    ["trim orders --keep-last 1 --before-sequence 2 --yes", 2, /Say what to remove by one of/],
    ["query orders --where payload.total", 2, /Give JSON, or a path, one of = != > >= < <= \^= and a value/],
    ["query orders --where {", 2, /This is not JSON; quote it for the shell/],
    ['query orders --where {"payload.total":{"about":3}}', 2, /unknown operator/],
    ["query orders --from soon", 2, /Give a time such as 2026-01-31T12:00:00Z, or 15m/],
    ["query orders --from 2026-13-31", 2, /Give a time such as/],
    ["query orders --after x", 2, /Give a sequence such as 42, or one for each partition/],
    ["query orders --order up", 2, /Give one of asc, desc/],
    ["query orders --partition 5", 2, /There is no partition 5/],
    ["groups nowhere", 1, /Stream "nowhere" does not exist.*\nSee what there is with: rheo streams/],
    ["lag orders nobody", 1, /Group "nobody" of stream "orders" does not exist.*\nSee what there is with: rheo groups STREAM/],
    ["top", 2, /rheo top needs a terminal. Elsewhere: rheo top --json/],
  ])("%s", async ([args, code, message]) => {
    await using scene = await openScene();
    const before = await state(scene);
    const [ended, err] = await options(scene, args);
    expect([ended, err]).toEqual([code, expect.stringMatching(message)]);
    expect(await state(scene)).toEqual(before);
  });
});

test("--if-missing leaves what is there as it is", async () => {
  await using scene = await openScene();
  const before = await state(scene);
  expect((await run("create-stream orders --if-missing --json", scene)).out).toContain('"created":false');
  expect((await run("create-group orders billing --if-missing --max-attempts 99 --json", scene)).out).toContain(
    '"created":false',
  );
  expect(await state(scene)).toEqual(before);
});

test("the help of create-group says what a group gets that is made without options", async () => {
  await using scene = await openScene();
  const { out: help } = await run("create-group --help", scene);
  const { options } = JSON.parse((await run("create-group orders plain --json", scene)).out);
  const { minMs, maxMs, factor, jitter } = options.retry;
  expect(help).toContain(
    `ordering ${options.ordering}, ${options.maxAttempts} max attempts, lease ${options.leaseMs / 1_000}s, ` +
      `retry ${minMs / 1_000}s to ${maxMs / 60_000}m, factor ${factor}, jitter ${jitter}.`,
  );
});

test("--no-filter and --no-max-inflight take options of a group back", async () => {
  await using scene = await openScene();
  await run("update-group orders billing --filter type=paid --max-inflight 3", scene);
  expect((await scene.rheo.groupInfo("orders", "billing")).options).toMatchObject({
    filter: { type: { eq: "paid" } },
    maxInflight: 3,
  });
  await run("update-group orders billing --no-filter --no-max-inflight", scene);
  expect((await scene.rheo.groupInfo("orders", "billing")).options).toMatchObject({ filter: null, maxInflight: null });
});

test("replay of what matches, or from a time, re-opens that alone", async () => {
  await using scene = await openScene();
  expect(values((await run("replay orders billing --type placed --yes --json", scene)).out)).toMatchObject([{ reopened: 2 }]);
  const from = "replay orders billing --from 2026-01-31T12:00:04Z --dry-run --json";
  expect(values((await run(from, scene)).out)).toMatchObject([{ reopened: 1 }]);
});

test("trim never takes what a group has not settled, unless forced", async () => {
  await using scene = await openScene();
  expect(values((await run("trim orders --keep-last 1 --yes --json", scene)).out)).toEqual([
    { dryRun: false, stream: "orders", removed: 0, heldBack: 5 },
  ]);
});
