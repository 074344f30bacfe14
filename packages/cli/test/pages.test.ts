/** What the blocks of a page mean, and how they run. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsePage, type Ran, runPage } from "@rheo/cli/internal";
import { afterAll, beforeEach, describe, expect, test } from "vitest";

const folders: string[] = [];
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-page-"));
  folders.push(folder);
});
afterAll(() => Promise.all(folders.map((path) => rm(path, { recursive: true, force: true }))));

/** A fenced block. */
const block = (info: string, ...lines: readonly string[]): string => ["```".concat(info), ...lines, "```", ""].join("\n");

const run = (...blocks: readonly string[]): Promise<readonly Ran[]> =>
  runPage(parsePage(blocks.join("\n"), "page.md"), { folder, timeoutMs: 20_000 });

const differences = (ran: readonly Ran[]): readonly (string | null)[] => ran.map(({ outcome }) => outcome.difference);

const HELLO = block("js", "// file: hello.mjs", "console.log('hello', process.argv[2] ?? '');");

describe("a file", () => {
  test("is there before anything runs, wherever it stands in the page", async () => {
    expect(differences(await run(block("sh", "node hello.mjs"), block("text", "hello"), HELLO))).toEqual([null]);
  });
  test("is replaced by a later one of its name when the page gets there", async () => {
    const mended = block("js", "// file: hello.mjs", "console.log('mended');");
    const ran = await run(HELLO, block("sh", "node hello.mjs"), block("text", "hello"), mended, block("sh", "node hello.mjs"));
    expect(ran.map(({ outcome }) => outcome.output.trim())).toEqual(["hello", "mended"]);
  });
  test("may be of any language that has comments, and in a folder", async () => {
    await run(block("yaml", "# file: config/app.yml", "a: 1"));
    expect(await readFile(join(folder, "config/app.yml"), "utf8")).toBe("# file: config/app.yml\na: 1\n");
  });
});

describe("commands", () => {
  test("have the variables that were exported above them", async () => {
    const page = [
      block("js", "// file: name.mjs", "console.log(process.env.NAME);"),
      block("sh", "export NAME='a b'"),
      block("sh", "node name.mjs # says it"),
      block("text", "a b"),
    ];
    expect(differences(await run(...page))).toEqual([null, null]);
  });
  test("have a variable that is given another's value", async () => {
    const name = block("js", "// file: name.mjs", "console.log(process.env.NAME);");
    const ran = await run(name, block("sh", "export OTHER='a b'", "export NAME=$OTHER", "node name.mjs"), block("text", "a b"));
    expect(differences(ran)).toEqual([null]);
  });
  test("have those exported below a command of the same block from then on", async () => {
    const name = block("js", "// file: name.mjs", "console.log(process.env.NAME);");
    const ran = await run(name, block("sh", "node name.mjs", "export NAME=b"), block("sh", "node name.mjs"), block("text", "b"));
    expect(differences(ran)).toEqual([null, null]);
  });
  test("take words as a shell does", async () => {
    expect(differences(await run(HELLO, block("sh", `node hello.mjs 'a "b" c'`), block("text", 'hello a "b" c')))).toEqual([
      null,
    ]);
  });
  test("rheo is this command line", async () => {
    const [ran] = await run(block("sh", "npx rheo --version", "rheo --help"));
    expect(ran?.outcome).toMatchObject({ difference: null, output: expect.stringMatching(/^\d+\.\d+\.\d+\nUsage: rheo /) });
  });
  test("that are shown alone are not run", async () => {
    expect(await run(block("sh no-run", "node nowhere.mjs | less"))).toEqual([]);
  });
  test("that fail without the page saying so are a difference, and nothing after them runs", async () => {
    const ran = await run(block("sh", "node nowhere.mjs", "node hello.mjs"), block("sh", "node hello.mjs"));
    expect(differences(ran)).toEqual([expect.stringMatching(/^node nowhere\.mjs\nIt ended with 1: .*Cannot find module/s)]);
  });
  test("that complain without the page saying so are a difference", async () => {
    const ran = await run(block("js", "// file: a.mjs", "console.error('careful');"), block("sh", "node a.mjs"));
    expect(differences(ran)).toEqual(["node a.mjs\nIt complained: careful\n"]);
  });
  test("that take too long are ended", async () => {
    const page = parsePage(
      [block("js", "// file: a.mjs", "setInterval(() => 0, 1_000);"), block("sh", "node a.mjs")].join("\n"),
      "p",
    );
    expect(differences(await runPage(page, { folder, timeoutMs: 500 }))).toEqual([expect.stringContaining("takes too long")]);
  });
});

describe("what is expected", () => {
  const says = (lines: readonly string[], info: string, ...expected: readonly string[]): Promise<readonly (string | null)[]> =>
    run(
      block("js", "// file: a.mjs", ...lines.map((line) => `console.log(${JSON.stringify(line)});`)),
      block("sh", "node a.mjs"),
      block(info, ...expected),
    ).then(differences);

  test.for<readonly [string, string, readonly string[]]>([
    ["the same", "text", ["one 1", "two", "three"]],
    ["anything in a line", "text", ["one …", "t…o", "three"]],
    ["any number of lines", "text", ["…", "three"]],
    ["no line where some may be", "text", ["one 1", "…", "two", "…", "three", "…"]],
    ["any order", "text any-order", ["three", "one …", "two"]],
    ["some of them in any order", "text any-order", ["three", "…"]],
  ])("fits: %s", async ([, info, expected]) => {
    expect(await says(["one 1", "two", "three"], info, ...expected)).toEqual([null]);
  });

  test.for<readonly [string, string, readonly string[], string]>([
    ["another line", "text", ["one", "two!"], "Line 2 should be: two!\nIt was:            two"],
    ["a line too few", "text", ["one", "two", "three"], "Line 3 should be: three\nIt ended before."],
    ["a line too many", "text", ["one"], "It printed more: two"],
    ["a line that never comes", "text", ["…", "four"], "Line 1 should be: four\nIt was:            one"],
    ["a line that is not among them", "text any-order", ["two", "four"], "It did not print: four"],
    ["one that is not expected among them", "text any-order", ["two"], "It printed more: one"],
    ["regular expressions are text", "text", ["o.e", "two"], "Line 1 should be: o.e\nIt was:            one"],
    ["another exit code", "text", ["one", "two", "[exit 3]"], "It ended with 0, not with 3."],
  ])("differs: %s", async ([, info, expected, difference]) => {
    expect(await says(["one", "two"], info, ...expected)).toEqual([`node a.mjs\n${difference}`]);
  });

  test("an exit code and stderr are what the page says", async () => {
    const file = block("js", "// file: a.mjs", "console.error('no such thing');", "process.exitCode = 3;");
    expect(
      differences(await run(file, block("sh", "node a.mjs"), "Prose.\n", block("text", "no such thing", "[exit 3]"))),
    ).toEqual([null]);
  });
  test("of several commands it is what the last one printed", async () => {
    expect(differences(await run(HELLO, block("sh", "node hello.mjs a", "node hello.mjs b"), block("text", "hello b")))).toEqual([
      null,
    ]);
  });
});

describe("a notebook", () => {
  const notebook = (...blocks: readonly string[]): Promise<readonly Ran[]> => run("<!-- notebook -->\n", ...blocks);

  test("is one module: names, imports and time go on from block to block", async () => {
    const ran = await notebook(
      block("js", 'import { sep } from "node:path";', "let count = 1;", "await null;", "console.log(count);"),
      block("text", "1"),
      block("js", 'import { EOL } from "node:os";', "count += 1;", "console.log(count, sep.length, EOL.length);"),
      block("text", "2 1 …"),
    );
    expect(differences(ran)).toEqual([null, null]);
  });
  test("runs in turn with commands, on the same folder", async () => {
    const write = (text: string): string =>
      block("js", 'import { writeFileSync } from "node:fs";'.repeat(text === "1" ? 1 : 0), `writeFileSync("n", "${text}");`);
    const read = block(
      "js",
      "// file: read.mjs",
      'import { readFileSync } from "node:fs";',
      'console.log(readFileSync("n", "utf8"));',
    );
    const ran = await notebook(
      read,
      write("1"),
      block("sh", "node read.mjs"),
      block("text", "1"),
      write("2"),
      block("sh", "node read.mjs"),
      block("text", "2"),
    );
    expect(differences(ran)).toEqual([null, null, null, null]);
  });
  test("prints nothing that the page does not show", async () => {
    expect(differences(await notebook(block("js", "console.log('oh');")))).toEqual(["It printed more: oh"]);
  });
  test("that throws ends there, and its stack has the lines of the page", async () => {
    const ran = await notebook(
      "# A title\n",
      block("js", "const a = 1;"),
      block("js", "", "throw new Error('no ' + a);"),
      block("js", "a;"),
    );
    expect(differences(ran)).toEqual([null, expect.any(String)]);
    expect(ran[1]?.outcome).toMatchObject({ code: 1, output: expect.stringMatching(/page\.md\.mjs:11\b.*Error: no 1/s) });
  });
  test("that does not parse says so in its first block", async () => {
    const [ran] = await notebook(block("js", "console.log(1);"), block("js", "const = 2;"));
    expect(ran?.outcome).toMatchObject({ code: 1, output: expect.stringContaining("SyntaxError") });
  });
  test("that leaves something running does not end by itself", async () => {
    const page = parsePage(`<!-- notebook -->\n\n${block("js", "setInterval(() => 0, 1_000);")}`, "page.md");
    expect(differences(await runPage(page, { folder, timeoutMs: 500 }))).toEqual(["It ended with a signal, not with 0."]);
  });
});

describe("a page that could not run is refused, with its line", () => {
  test.for<readonly [string, string, RegExp]>([
    ["code that nobody runs", `Prose.\n\n${block("js", "let a;")}`, /^page\.md:3 has code that nobody runs/],
    ["a pipe", block("sh", "rheo query orders | head"), /^page\.md:1 has the command "rheo query orders \| head": pipes/],
    ["a variable", block("sh", "node $FILE"), /variables need a shell/],
    ["another program", block("sh", "npm install"), /one that runs is node, rheo or export/],
    ["text that nothing printed", block("text", "hello"), /^page\.md:1 says what is printed, and no command/],
    [
      "text twice",
      [block("sh", "node a.mjs"), block("text", "a"), block("text", "b")].join("\n"),
      /^page\.md:9 says what is printed/,
    ],
    ["a word that text does not take", [block("sh", "node a.mjs"), block("text unordered", "a")].join("\n"), /"unordered"/],
    ["a file outside its folder", block("js", "// file: ../a.mjs"), /a path below the folder/],
    ["a block in a list", `- item\n\n  ${block("sh", "rheo streams").replaceAll("\n", "\n  ")}`, /inside a list/],
  ])("%s", ([, text, message]) => {
    expect(() => parsePage(text, "page.md")).toThrow(message);
  });
});

test("comments say what a page needs", () => {
  const page = parsePage("<!-- needs: postgres redis -->\n<!-- packages: @rheo/sqlite, @rheo/lmdb -->\n\n# Title\n", "page.md");
  expect(page).toMatchObject({
    title: "Title",
    servers: ["postgres", "redis"],
    packages: ["@rheo/sqlite", "@rheo/lmdb"],
    isNotebook: false,
  });
});
