import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { Running, run, values } from "./run.ts";
import { openScene } from "./scene.ts";

describe("one event", () => {
  test("goes where its key says, with all that was said of it", async () => {
    await using scene = await openScene();
    const args =
      'append orders {"n":1} --type made --key a --id x --timestamp 2026-01-01T00:00Z --correlation-id c --causation-id o1 --metadata {"producer":"me"}';
    const { code, out } = await run(args, scene);
    const event = await scene.rheo.getEvent("orders", "x");
    expect([code, out]).toEqual([0, `orders ${event?.partition}@${event?.sequence} x\n`]);
    expect(event).toMatchObject({
      payload: { n: 1 },
      type: "made",
      key: "a",
      metadata: { producer: "me", correlationId: "c", causationId: "o1" },
      timestamp: new Date("2026-01-01T00:00Z"),
    });
  });
  test("as JSON, says where it went", async () => {
    await using scene = await openScene();
    const { out } = await run("append orders 5 --id x --partition 1 --json", scene);
    expect(values(out)).toMatchObject([{ id: "x", stream: "orders", partition: 1, sequence: 3 }]);
  });
  test("of text takes it as it stands", async () => {
    await using scene = await openScene();
    await run(["append", "orders", "{not JSON", "--text", "--id", "x"], scene);
    expect((await scene.rheo.getEvent("orders", "x"))?.payload).toBe("{not JSON");
  });
  test("appended again under its id writes nothing", async () => {
    await using scene = await openScene();
    for (let n = 0; n < 2; n++) expect((await run("append orders 5 --id x", scene)).code).toBe(0);
    expect((await scene.rheo.streamInfo("orders")).events).toBe(8);
  });
  test("only while the partition ends where it was said to", async () => {
    await using scene = await openScene();
    const { code, err } = await run("append orders 5 --partition 1 --expected-sequence 1", scene);
    expect([code, err]).toEqual([1, expect.stringMatching(/\(sequence_conflict\)/)]);
  });
});

describe("a line each", () => {
  test("of stdin, however it is cut, becomes an event", async () => {
    await using scene = await openScene();
    const { code, out } = await run("append orders --key k", { ...scene, stdin: ['{"n"', ":1}\n\n", '{"n":2}\r\n{"n":3}'] });
    expect([code, out]).toEqual([0, expect.stringMatching(/^orders: 3 events appended, [\d.,]+\/s\n$/)]);
    const events = await scene.rheo.query("orders", { key: "k" });
    expect(events.map(({ payload }) => payload)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });
  test("of a file, in batches, as JSON with a line for each", async () => {
    await using scene = await openScene();
    const file = join(scene.folder, "lines");
    await writeFile(file, Array.from({ length: 2_345 }, (_, n) => `{"n":${n}}`).join("\n"));
    const { code, out } = await run(`append empty --json --file ${file}`, scene);
    const printed = values(out) as { readonly sequence: number }[];
    expect([code, printed.length, printed.at(-1)?.sequence]).toEqual([0, 2_345, 2_345]);
    expect(await scene.rheo.count("empty")).toMatchObject({ count: 2_345 });
  });
  test("with --events is a whole event, as query --json prints it", async () => {
    await using scene = await openScene();
    const { out } = await run("query orders --partition 0 --json", scene);
    expect((await run("append empty --events", { ...scene, stdin: [out] })).code).toBe(0);
    const [source, copy] = await Promise.all([scene.rheo.query("orders", { partition: 0 }), scene.rheo.query("empty")]);
    expect(copy).toEqual(source.map((event) => ({ ...event, stream: "empty" })));
  });
  test("with --dry-run is only looked at", async () => {
    await using scene = await openScene();
    expect(await run("append orders --dry-run", { ...scene, stdin: ["1\n2\n"] })).toEqual({
      code: 0,
      out: 'Would append 2 events to stream "orders".\n',
      err: "",
    });
    const { out } = await run("append orders --dry-run --json", { ...scene, stdin: ["1\n2\n"] });
    expect([values(out), await scene.rheo.count("orders")]).toEqual([
      [{ dryRun: true, stream: "orders", events: 2 }],
      { count: 7, isExact: true },
    ]);
  });
  test("that nobody ends is read as it comes, and after Ctrl-C it is said how far it got", async () => {
    await using scene = await openScene();
    const batch = Array.from({ length: 1_000 }, (_, n) => `${n}\n`).join("");
    const running = new Running("append empty", { store: scene.store, stdin: endless(batch) });
    await until("a batch is appended", async () => (await scene.rheo.count("empty")).count >= 1_000);
    running.signal("SIGINT");
    expect(await running.code).toBe(130);
    const { count } = await scene.rheo.count("empty", { most: 10_000_000 });
    expect(running.err).toBe(`Ended early: ${count.toLocaleString("en-US")} events appended.\n`);
  });
});

/** The same again and again. */
const endless = (text: string): readonly string[] =>
  ({
    *[Symbol.iterator]() {
      for (;;) yield text;
    },
  }) as readonly string[]; // only iterated

describe("what is wrong names the line", () => {
  test.for<readonly [string, string, readonly string[] | undefined, number, RegExp]>([
    ["that is not JSON", "append orders", ["1\n\n{bad\n"], 1, /Line 3 of stdin is not JSON: .* \(input\)/],
    ["whose event has no payload", "append orders --events", ['{"type":"t"}'], 1, /Line 1 of stdin has no payload/],
    [
      "whose event has a name that nobody knows",
      "append orders --events",
      ['{"payload":1,"kind":2}'],
      2,
      /Line 1 of stdin: unknown option "kind"/,
    ],
    [
      "whose event is refused",
      "append orders --events",
      ['{"payload":1}\n{"payload":1,"type":7}'],
      2,
      /Line 2 of stdin: .*type.*\(0 events before line 1 appended, nothing from there on\)/s,
    ],
    ["that is too large", "append orders", [`"${"x".repeat(1_100_000)}"`], 1, /Line 1 of stdin: .*\(event_too_large\)/s],
    [
      "that never ends",
      "append orders",
      Array.from({ length: 30 }, () => "x".repeat(1_000_000)),
      1,
      /Line 1 is longer than any event may be/,
    ],
    [
      "of a file that is not there",
      "append orders --file /nowhere/lines",
      undefined,
      1,
      /\/nowhere\/lines cannot be read: ENOENT/,
    ],
    [
      "when there is nothing",
      "append orders",
      undefined,
      2,
      /There is nothing to append: give a payload, --file, or lines on stdin/,
    ],
    [
      "when flags speak for whole events",
      "append orders --events --key a",
      ['{"payload":1}'],
      2,
      /With --events the lines say everything/,
    ],
    ["when the payload is not JSON", "append orders hello", undefined, 1, /The payload is not JSON/],
    [
      "when metadata is not an object",
      "append orders 1 --metadata [1]",
      undefined,
      2,
      /Give a JSON object, quoted for the shell/,
    ],
  ])("%s", async ([, args, stdin, code, message]) => {
    await using scene = await openScene();
    const ran = await run(args, { store: scene.store, ...(stdin === undefined ? {} : { stdin }) });
    expect([ran.code, ran.err]).toEqual([code, expect.stringMatching(message)]);
    expect((await scene.rheo.streamInfo("orders")).events).toBe(7);
  });
});
