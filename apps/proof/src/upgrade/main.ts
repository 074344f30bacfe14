/** The command: `npm run fixture -- --help`. */
import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { fixturesOf, writeFixture } from "./fixtures.ts";
import { fixtureStores } from "./stores.ts";

const names = fixtureStores.map(({ name }) => name);
const command = new Command("fixture")
  .description(
    "Writes what this version leaves in each store, and how it describes it, to apps/proof/fixtures. To be run once, right before a release: later versions are held to it.",
  )
  .addOption(new Option("--store <name>", "only this one").choices(names))
  .option("--replace", "also where this version has a fixture already", false)
  .allowExcessArguments(false);

command.parse();
const { store: only, replace } = command.opts<{ readonly store?: string; readonly replace: boolean }>();
const { version } = JSON.parse(readFileSync(new URL("../../../../packages/core/package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};
for (const store of fixtureStores.filter(({ name }) => only === undefined || name === only)) {
  const isThere = fixturesOf(store.name).some((fixture) => fixture.version === version);
  if (isThere && !replace) console.log(`${store.name}: there is one of ${version}; --replace makes it anew`);
  else {
    await writeFixture(store, version);
    console.log(`${store.name}: written for ${version}`);
  }
}
