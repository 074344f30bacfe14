/** The command: `npm run chaos -- --help`. */
import { HELP, parseFlags, type SoakFlags, SoakUsageError } from "./options.ts";
import { chosenFaults, openPlace } from "./place.ts";
import { printReport } from "./report.ts";
import { runSoak } from "./soak.ts";

const run = async (flags: SoakFlags): Promise<number> => {
  const place = await openPlace(flags.store, flags.hosts);
  const progress = (text: string): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`);
  };
  try {
    const faults = chosenFaults(place, flags.faults);
    const processes = place.hasOneOwner ? 1 : flags.processes;
    if (!flags.json)
      console.log(
        `seed ${flags.seed}, store ${flags.store}, processes: ${processes}${flags.hosts === 0 ? "" : ` on each of ${flags.hosts} hosts`}, faults: ${faults.join(", ")}`,
      );
    const report = await runSoak({ ...flags, processes, faults, place, progress });
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
  process.stderr.write(`chaos: ${error.message}\n`);
  process.exitCode = 2;
}
