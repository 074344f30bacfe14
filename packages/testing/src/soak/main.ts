/** The command: `npm run soak -- --help`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "../servers/index.ts";
import { HELP, parseFlags, type SoakFlags, SoakUsageError } from "./options.ts";
import { printReport } from "./report.ts";
import { runSoak } from "./soak.ts";

/** A store for the run; what was made for it alone goes with it. */
const openPlace = async (store: string): Promise<{ readonly url: string; readonly close: () => Promise<void> }> => {
  if (store === "sqlite") {
    const folder = mkdtempSync(join(tmpdir(), "rheo-soak-store-"));
    return { url: `sqlite:${join(folder, "events.db")}`, close: async () => rmSync(folder, { recursive: true, force: true }) };
  }
  if (store !== "postgres") return { url: store, close: async () => undefined };
  const server = await startPostgres();
  return { url: server.url, close: () => server.stop() };
};

const run = async (flags: SoakFlags): Promise<number> => {
  const place = await openPlace(flags.store);
  const progress = (text: string): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`);
  };
  try {
    if (!flags.json) console.log(`seed ${flags.seed}, store ${flags.store}, ${flags.processes} processes`);
    const report = await runSoak({ ...flags, url: place.url, progress });
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[2K");
    console.log(flags.json ? JSON.stringify(report, null, 2) : printReport(report));
    return report.ok ? 0 : 1;
  } finally {
    await place.close();
  }
};

try {
  const flags = parseFlags(process.argv.slice(2));
  if (flags.help) console.log(HELP);
  else process.exitCode = await run(flags);
} catch (error) {
  if (!(error instanceof SoakUsageError)) throw error;
  process.stderr.write(`soak: ${error.message}\n`);
  process.exitCode = 2;
}
