/** The command: `npm run corpus -- --help`. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Command, CommanderError } from "commander";
import { corpusPage, PAGE } from "./page.ts";

const ROOT = new URL("../../../../", import.meta.url);

const command = new Command("corpus")
  .description(`Writes ${PAGE}: every case of the bug corpus with its tests and its verdict.`)
  .option("--check", "write nothing, and exit with 1 if the page is not what it should be", false)
  .addHelpText("after", "\nExit codes: 0 done, 1 the page is out of date, 2 wrong usage.")
  .allowExcessArguments(false)
  .exitOverride();

/** The exit code. */
const run = (check: boolean): number => {
  const path = fileURLToPath(new URL(PAGE, ROOT));
  const page = corpusPage();
  if (!check) writeFileSync(path, page);
  else if (readFileSync(path, "utf8") !== page) {
    console.error(`${PAGE} is out of date. Run: npm run corpus`);
    return 1;
  }
  return 0;
};

try {
  command.parse();
  process.exitCode = run(command.opts<{ check: boolean }>().check);
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
