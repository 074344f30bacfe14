/** `rheo walkthrough`: pages to read and run. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { RheoCommand } from "./rheo-command.ts";
import { Running, run, values } from "./run.ts";

const NAMES = ["quickstart", "concepts", "ops", "pipelines", "backends", "dashboard"];

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-walkthrough-test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

let pages = 0;
const pageOf = async (text: string): Promise<string> => {
  const path = join(folder, `page-${++pages}.md`);
  await writeFile(path, text);
  return path;
};

const GOOD = `<!-- notebook -->

# A **title**

Some \`code\` in prose.

\`\`\`js
// file: two.mjs
export const two = 2;
\`\`\`

\`\`\`js
import { two } from "./two.mjs";
console.log(two);
\`\`\`

\`\`\`text
2
\`\`\`

\`\`\`js
console.log(two * 2);
\`\`\`

\`\`\`text
4
\`\`\`
`;

const BAD = GOOD.replace("text\n2", "text\n3");

describe("what there is", () => {
  test("is listed, with what each needs", async () => {
    for (const args of ["walkthrough", "walkthrough --list"]) {
      const { code, out } = await run(args);
      expect([code, out.split("\n").flatMap((line) => /^[a-z]\w+/.exec(line) ?? [])]).toEqual([0, NAMES]);
      expect(out).toMatch(/^pipelines .*@rheo\/pipeline$/m);
    }
  });
  test("is listed as JSON", async () => {
    const { out } = await run("walkthrough --json");
    expect(values(out)).toEqual(NAMES.map((name) => ({ name, title: expect.any(String), packages: expect.any(Array) })));
  });
  test.for(["nothing", "ops.md"])("%s is not among it, and what is is named", async (name) => {
    const { code, out, err } = await run(["walkthrough", name]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(
      name === "ops.md" ? /There is no page ops\.md/ : /There is no walkthrough "nothing"\. There are: quickstart, /,
    );
  });
});

describe("each does what it says, from a folder of its own", () => {
  test.for(NAMES)("%s", async (name) => {
    await using rheo = new RheoCommand(["walkthrough", name, "--yes"], { cwd: folder });
    expect([await rheo.code, rheo.stderr], rheo.stdout).toEqual([0, ""]);
    expect(rheo.stdout).toMatch(new RegExp(`The end of ${name}: \\d+ blocks, each as expected`));
    expect(rheo.stdout).toMatch(/^What to call$/m);
  });
});

describe("on a pipe, or with --yes", () => {
  test.for<readonly [string, object]>([
    ["a pipe", {}],
    ["a terminal", { columns: 80, stdin: [] }],
  ])("%s: each block is shown, run, and compared", async ([where, options]) => {
    const { code, out, err } = await run(["walkthrough", await pageOf(GOOD), ...(where === "a pipe" ? [] : ["--yes"])], {
      ...options,
      env: { NO_COLOR: "1" },
    });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(
      /> console\.log\(two\);\n\nExpect:\n {2}2\n\nIt printed:\n\| 2\n\nAs expected\.\n\n> console\.log\(two \* 2\);/,
    );
    expect(out).toContain("Some `code` in prose.");
  });
  test("a block that does not do what the page says is named, and ends it", async () => {
    const path = await pageOf(BAD);
    const { code, out, err } = await run(["walkthrough", path, "--yes"]);
    expect(code).toBe(1);
    expect(err).toMatch(/page-\d+\.md:12 does not do what the page says/);
    expect(out).toContain("Line 1 should be: 3\nIt was:            2");
    expect(out).not.toContain("two * 2");
  });
  test("as JSON, each block that ran is a line", async () => {
    const { code, out } = await run(["walkthrough", await pageOf(BAD), "--json"]);
    expect([code, values(out)]).toEqual([
      1,
      [{ line: 12, kind: "code", output: "2\n", exitCode: 0, difference: "Line 1 should be: 3\nIt was:            2" }],
    ]);
  });
});

describe("at a terminal", () => {
  const PROMPT = /Enter runs it, a runs all that follow, q ends: $/;
  const start = async (): Promise<Running> => {
    const running = new Running(["walkthrough", await pageOf(GOOD)], { columns: 80, stdin: [], env: { NO_COLOR: "1" } });
    await until("it asks", () => PROMPT.test(running.out));
    return running;
  };

  test("a block runs when Enter is pressed, and not before", async () => {
    const running = await start();
    expect(running.out).not.toContain("It printed");
    running.type("\n");
    await until("it asks again", () => /It printed:\n\| 2[\s\S]*two \* 2/.test(running.out) && PROMPT.test(running.out));
    running.type("\n");
    expect(await running.code).toBe(0);
    expect(running.out).toMatch(/\| 4\n\nAs expected/);
  });
  test("a runs all that follow", async () => {
    const running = await start();
    running.type("a\n");
    expect(await running.code).toBe(0);
    expect(running.out).toMatch(/\| 2[\s\S]*\| 4/);
  });
  test("q ends it", async () => {
    const running = await start();
    running.type("q\n");
    expect([await running.code, running.err]).toEqual([0, ""]);
    expect(running.out).not.toContain("It printed");
  });
  test("Ctrl-C ends it where it asks", async () => {
    const running = await start();
    running.signal("SIGINT");
    expect([await running.code, running.err]).toEqual([130, ""]);
  });
  test("prose is laid out for its width", async () => {
    const prose = `# Head\n\n${"word ".repeat(60)}\n\n- ${"item ".repeat(30)}\n\n| question | API |\n|---|---|\n| ${"why ".repeat(20)} | \`call\` |\n`;
    const { out } = await run(["walkthrough", await pageOf(prose), "--yes"], { columns: 40, stdin: [], env: { NO_COLOR: "1" } });
    const text = out.slice(out.indexOf("Head"), out.indexOf("The end of"));
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(40);
    expect(text).toMatch(/• item item [\s\S]*\n {2}item[\s\S]*why\n {2}`call`/);
  });
});

describe("the folder", () => {
  test("is kept where one asks for it", async () => {
    const kept = join(folder, "kept");
    const { code } = await run(["walkthrough", await pageOf(GOOD), "--keep", kept]);
    expect([code, await readFile(join(kept, "two.mjs"), "utf8")]).toEqual([0, "// file: two.mjs\nexport const two = 2;\n"]);
  });
  test("that is to be kept is a new one", async () => {
    const { code, err } = await run(["walkthrough", await pageOf(GOOD), "--keep", folder]);
    expect([code, err]).toEqual([2, expect.stringMatching(/is not empty/)]);
  });
  test("has the packages that the page names, or it says how to get them", async () => {
    const { code, err } = await run([
      "walkthrough",
      await pageOf(GOOD.replace("notebook -->", "notebook -->\n<!-- packages: @rheo/none -->")),
    ]);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(
        /needs @rheo\/none\. Run: npm install @rheo\/none\n.*npx -p rheo -p @rheo\/none rheo walkthrough page-/,
      ),
    ]);
  });

  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  test.for<readonly [NodeJS.Signals, string, number]>([
    ["SIGINT", "a notebook", 130],
    ["SIGINT", "a command", 130],
    ["SIGTERM", "a notebook", 143],
    ["SIGTERM", "a command", 143],
  ])("%s in %s leaves neither a process nor a file", async ([signal, kind, code]) => {
    const temporary = await mkdtemp(join(folder, "tmp-"));
    const pidFile = join(folder, `${signal}-${kind}.pid`);
    const work = `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(pidFile)}, String(process.pid));\nsetInterval(() => 0, 1_000);\nawait new Promise(() => undefined);\n`;
    const page =
      kind === "a notebook"
        ? `<!-- notebook -->\n\n\`\`\`js\n${work}\`\`\`\n`
        : `\`\`\`js\n// file: a.mjs\n${work}\`\`\`\n\n\`\`\`sh\nnode a.mjs\n\`\`\`\n`;
    await using rheo = new RheoCommand(["walkthrough", await pageOf(page)], { env: { TMPDIR: temporary } });
    let pid = 0;
    for (const until = Date.now() + 20_000; pid === 0 && Date.now() < until; )
      pid = Number(await readFile(pidFile, "utf8").catch(() => 0));
    expect([isAlive(pid), (await readdir(temporary)).length]).toEqual([true, 1]);
    rheo.signal(signal);
    expect([await rheo.code, rheo.stderr, isAlive(pid), await readdir(temporary)]).toEqual([code, "", false, []]);
  });
});
