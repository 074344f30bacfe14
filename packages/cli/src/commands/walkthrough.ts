import { RheoError } from "@rheo/core";
import { addCommand, type CliCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { CommandFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { Printer } from "../output/printer.ts";
import { table } from "../output/table.ts";
import { interruptible } from "../session/interruptible.ts";
import { allPages, findPage, shortName } from "../walkthrough/catalog.ts";
import { openFolder } from "../walkthrough/folder.ts";
import { GoOn } from "../walkthrough/go-on.ts";
import { jsonTeller } from "../walkthrough/json-teller.ts";
import type { Page } from "../walkthrough/page.ts";
import { PageRun } from "../walkthrough/page-run.ts";
import type { Teller } from "../walkthrough/teller.ts";
import { TextTeller } from "../walkthrough/text-teller.ts";

interface Flags {
  readonly yes?: boolean;
  readonly list?: boolean;
  readonly keep?: string;
  readonly json: boolean;
}

const EPILOGUE = `
Each is a page of Markdown whose code runs in a temporary folder, on a store of its own. NAME may also be the path of such a page.
Exit codes: 0 all as expected, 1 a block was not, 2 wrong usage, 130 after Ctrl-C; nothing is left behind.`;

/** `rheo walkthrough`: pages to read and run, block by block. */
export const walkthrough: CliCommand = {
  register: (program, io, ended) => {
    addCommand(program, "walkthrough [name]", "learn Rheo by pages that run, block by block")
      .option("--yes", "run all of it without asking, as where no terminal is")
      .option("--list", "say what walkthroughs there are, as without a name")
      .option("--keep <folder>", "play in this new folder, and leave it")
      .option("--json", "JSON, a line for each block that ran; asks nothing", false)
      .addHelpText("after", EPILOGUE)
      .action(async (name: string | undefined, flags: Flags) => {
        const print = new Printer(io, flags.json);
        if (name === undefined || flags.list === true) return ended(await list(print));
        const page = await findPage(name);
        ended(await interruptible(io, true, (signal) => play(page, { io, print, flags, signal })));
      });
  },
};

const list = async (print: Printer): Promise<number> => {
  const pages = await allPages();
  if (print.isJson) for (const page of pages) print.value({ name: shortName(page), title: page.title, packages: page.packages });
  else print.text(table(print.screen, COLUMNS, pages));
  print.note("Run one: rheo walkthrough NAME");
  return EXIT.ok;
};

const COLUMNS = [
  { head: "NAME", value: shortName },
  { head: "WHAT", value: ({ title }: Page) => title },
  { head: "NEEDS", value: ({ packages }: Page) => packages.join(" ") },
];

interface Play {
  readonly io: Io;
  readonly print: Printer;
  readonly flags: Flags;
  readonly signal: AbortSignal;
}

/** @throws CommandFailure - a block does not do what the page says */
const play = async (page: Page, { io, print, flags, signal }: Play): Promise<number> => {
  if (page.servers.length > 0)
    throw new RheoError("unsupported", `${page.name} needs ${page.servers.join(" and ")}, which only its test starts.`);
  await using folder = await openFolder(page, flags.keep ?? null);
  await using run = await PageRun.open(page, { folder: folder.path, signal });
  const teller: Teller = print.isJson ? jsonTeller(print) : new TextTeller(print);
  using asked = goOn(io, flags, signal);
  let blocks = 0;
  teller.began(page, folder.path);
  for (const step of page.steps) {
    teller.shows(step);
    if ((step.kind === "code" || step.kind === "commands") && !((await asked?.ask()) ?? true)) return EXIT.ok;
    const outcome = await run.run(step);
    if (signal.aborted) return EXIT.failed; // its end was the signal's doing
    if (outcome === null) continue;
    teller.ran(step, outcome);
    if (outcome.difference !== null)
      throw new CommandFailure("differs", `${page.name}:${step.line} does not do what the page says.`);
    blocks += 1;
  }
  teller.ended(page, blocks);
  return EXIT.ok;
};

/** Null where nobody is there to be asked. */
const goOn = (io: Io, { yes, json }: Flags, signal: AbortSignal): GoOn | null =>
  yes !== true && !json && io.stdin?.isTTY === true && io.stdout.isTTY === true ? new GoOn(io, io.stdin, signal) : null;
