/** What reaches a terminal, a pipe, and a script. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { RheoCommand } from "./rheo-command.ts";
import { Running, run, values } from "./run.ts";
import { EVIL, openScene, type Scene } from "./scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
  await scene.rheo.append("orders", {
    id: `wide-${EVIL}`,
    type: EVIL,
    key: `日本語 👩‍👩‍👧 ${EVIL}`,
    metadata: { [EVIL]: EVIL, correlationId: "p1" },
    payload: { [EVIL]: `${EVIL} ${"long ".repeat(100)}` },
  });
});
afterAll(() => scene[Symbol.asyncDispose]());

const READING = [
  "streams",
  "groups orders",
  "lag orders billing",
  "info orders billing",
  "info orders",
  "explain orders billing",
  "dead-letters orders billing",
  "dead-letters orders billing --stack",
  "leases orders billing",
  "query orders",
  "query orders --all",
  "event orders o2",
  "lineage orders p1",
  "tail orders --limit 8",
  "doctor",
];

describe("text from the store is inert", () => {
  const UNSAFE = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

  test.for(READING)("%s", async (args) => {
    for (const more of ["", " --json"]) {
      const { code, out, err } = await run(`${args}${more}`, scene);
      expect([code, UNSAFE.test(out), UNSAFE.test(err)]).toEqual([0, false, false]);
    }
  });

  test("in what it says of failures and of what it asks", async () => {
    for (const args of [
      ["event", "orders", EVIL],
      ["groups", EVIL],
      ["query", "orders", "--type", EVIL, "--nope", EVIL],
    ])
      for (const more of [[], ["--json"]]) expect(UNSAFE.test((await run([...args, ...more], scene)).err)).toBe(false);
  });

  test("and as JSON it is still what it was", async () => {
    const { out } = await run("query orders --where payload.total=10 --type paid --json", scene);
    expect(values(out)).toMatchObject([{ payload: { note: EVIL } }]);
  });
});

/** How wide a line is drawn, as far as it matters here. */
const widthOf = (line: string): number =>
  [...new Intl.Segmenter().segment(stripVTControlCharacters(line))].reduce(
    (sum, { segment }) => sum + (/[\u3040-\u9fff]|\p{Emoji_Presentation}/u.test(segment) ? 2 : 1),
    0,
  );

describe("tables", () => {
  test.for(READING.filter((args) => !/event|lineage|stack|doctor/.test(args)))("fit terminals of any width: %s", async (args) => {
    for (const columns of [20, 40, 80, 132]) {
      const { out } = await run(args, { ...scene, columns });
      expect(Math.max(...out.split("\n").map(widthOf))).toBeLessThanOrEqual(columns);
    }
  });
  test("keep their columns below one another, also after wide characters", async () => {
    const { out } = await run("query orders --limit 9", { ...scene, columns: 200, env: { NO_COLOR: "1" } });
    const places = out
      .trimEnd()
      .split("\n")
      .map((line) => widthOf(line.slice(0, line.search(/PAYLOAD|[{"]|null$/))));
    expect(new Set(places).size).toBe(1);
  });
  test("are not cut on a pipe", async () => {
    expect((await run("query orders", scene)).out).toContain("long ".repeat(100));
  });
  test("a terminal that says it is 0 wide is written as one of 80", async () => {
    const [none, usual] = await Promise.all(
      [0, 80].map((columns) => run("lag orders billing", { ...scene, columns, env: { NO_COLOR: "1" } })),
    );
    expect(none?.out).toBe(usual?.out);
  });

  test("cut the payload first, and ids last", async () => {
    const { out } = await run("query orders --partition 1", { ...scene, columns: 60 });
    expect(out).toMatch(/p1 .*\{"total":3\}/);
  });
});

describe("colours", () => {
  test("are there on a terminal", async () => {
    expect((await run("groups orders", { ...scene, columns: 80 })).out).toContain("\u001b[");
  });
  test("are off on a pipe, with NO_COLOR, and on a dumb terminal", async () => {
    const outs = await Promise.all([
      run("groups orders", scene),
      run("groups orders", { ...scene, columns: 80, env: { NO_COLOR: "1" } }),
      run("groups orders", { ...scene, columns: 80, env: { TERM: "dumb" } }),
    ]);
    expect(outs.filter(({ out }) => out.includes("\u001b"))).toEqual([]);
  });
});

describe("failures", () => {
  test("as text say what, on what, the code, and what to do", async () => {
    expect(await run("groups nowhere", scene)).toEqual({
      code: 1,
      out: "",
      err: 'rheo: Stream "nowhere" does not exist. Create it with createStream or ensureStream. (stream_not_found)\nSee what there is with: rheo streams\n',
    });
  });
  test("as JSON are JSON, on stderr", async () => {
    const { code, out, err } = await run("groups nowhere --json", scene);
    expect([code, out, values(err)]).toEqual([
      1,
      "",
      [
        {
          error: {
            code: "stream_not_found",
            message: 'Stream "nowhere" does not exist. Create it with createStream or ensureStream.',
            details: { stream: "nowhere" },
            hint: "See what there is with: rheo streams",
          },
        },
      ],
    ]);
  });
  test("of the command line are JSON as well", async () => {
    const { code, err } = await run("groups --json", scene);
    expect([code, values(err)]).toEqual([
      2,
      [{ error: { code: "usage", message: "missing required argument 'stream'", details: {}, hint: null } }],
    ]);
  });
  test("without a store say how to name one", async () => {
    const { code, err } = await run("streams");
    expect([code, err]).toEqual([2, expect.stringMatching(/pass --store URL, such as sqlite:\.\/events\.db, or set RHEO_STORE/)]);
  });
  test("--store goes before RHEO_STORE", async () => {
    const { code } = await run(`streams --store ${scene.store}`, { store: "sqlite:/nowhere/events.db" });
    expect(code).toBe(0);
  });
});

describe("the bin", () => {
  const env = (): Record<string, string> => ({ RHEO_STORE: scene.store });

  test("ends quietly with 130 on Ctrl-C", async () => {
    await using rheo = new RheoCommand(["tail", "orders"], { env: env() });
    await until("it follows", () => rheo.stdout.includes("p2"));
    rheo.signal("SIGINT");
    expect([await rheo.code, rheo.stderr]).toEqual([130, ""]);
  });

  test("ends quietly with 0 when nobody reads on, as with head", async () => {
    const bulk = await openScene();
    await bulk.rheo.appendMany(
      "empty",
      Array.from({ length: 5_000 }, (_, n) => ({ payload: { n, text: "x".repeat(200) } })),
    );
    const bin = new URL("../../rheo/bin/rheo.js", import.meta.url).pathname;
    const shell = spawn("bash", ["-c", 'set -o pipefail; "$0" "$1" query empty --all | head -n 1', process.execPath, bin], {
      env: { ...process.env, RHEO_STORE: bulk.store },
    });
    let [out, err] = ["", ""];
    shell.stdout.on("data", (data: Buffer) => (out += data.toString()));
    shell.stderr.on("data", (data: Buffer) => (err += data.toString()));
    const [code] = await once(shell, "close");
    expect([code, out.split("\n").length, err]).toEqual([0, 2, ""]);
    await bulk[Symbol.asyncDispose]();
  });

  test("tells its version", async () => {
    expect((await run("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("--watch", () => {
  test("as JSON prints a look whenever it differs, until Ctrl-C", async () => {
    await using other = await openScene();
    const watching = new Running("lag orders billing --watch --every 100ms --json", { store: other.store });
    await until("the first look", () => values(watching.out).length === 1);
    await other.rheo.append("orders", { payload: 1, partition: 1 });
    await until("the second look", () => values(watching.out).length === 2);
    watching.signal("SIGINT");
    expect([await watching.code, values(watching.out)]).toMatchObject([130, [{ data: { lag: 5 } }, { data: { lag: 6 } }]]);
  });
  test("on a pipe prints the text with its time whenever it differs", async () => {
    await using other = await openScene();
    const watching = new Running("groups orders --watch --every 100ms", { store: other.store });
    await until("the first look", () => watching.out.includes("billing"));
    await other.rheo.resumeGroup("orders", "audit");
    await until("the second look", () => watching.out.match(/^\d{4}-.*Z$/gm)?.length === 2);
    watching.signal("SIGTERM");
    expect(await watching.code).toBe(143);
    expect(watching.out).toMatch(/paused[\s\S]*active[\s\S]*active/);
  });
  test("on a terminal draws over what was there, no higher than it is", async () => {
    const watching = new Running("info orders billing --watch --every 100ms", { store: scene.store, columns: 80, rows: 8 });
    await until("some looks", () => watching.out.split("\u001b[H").length > 3);
    watching.signal("SIGINT");
    await watching.code;
    const frames = watching.out.split("\u001b[H").slice(1);
    expect(frames.every((frame) => frame.trimEnd().split("\n").length <= 7)).toBe(true);
    expect(frames[1]).toMatch(/… \d+ more lines/);
  });
  test("ends quietly when nobody reads on", async () => {
    await using other = await openScene();
    const watching = new Running("streams --watch --every 100ms", { store: other.store });
    await until("the first look", () => watching.out.includes("orders"));
    watching.loseReader();
    expect([await watching.code, watching.err]).toEqual([0, ""]);
  });
});
