import { EXIT, isUsageError, runToEnd } from "@rheo/runtime/internal";
import type { CliCommand } from "../command.ts";
import type { Io } from "../io.ts";
import { duration, wholeNumber } from "../options/numbers.ts";
import { storeOption } from "../options/store.ts";
import type { StartFlags, StartRequest } from "../start/flags.ts";
import { inChildren } from "../start/in-children.ts";
import { inThisProcess } from "../start/in-this-process.ts";
import { jsonPrinter } from "../start/json-printer.ts";
import { ReadyFile } from "../start/ready-file.ts";
import { textPrinter } from "../start/text-printer.ts";

const EPILOGUE = `
The config is a module whose default export is defineConfig({ store, consumers, threads, … }); .ts too, where Node or an
installed tsx can run it. With --processes 1 the consumers run in this process; with more, this one only supervises them.

Signals: SIGTERM and SIGINT drain, a second one forces; SIGHUP replaces the processes one at a time, with the config as it is then.
RHEO_PROCESS tells each process its number, from 1, and RHEO_PROCESSES how many there are.

Exit codes: 0 drained, 1 a consumer or process failed too often, 2 wrong usage or config, 3 ended before everything was drained.`;

/** `rheo start`: runs a config until it is told to end. */
export const start: CliCommand = {
  register: (program, io, ended) => {
    program
      .command("start")
      .summary("run the consumers of a config")
      .description("Runs the consumers of a config module, in this process or in several that it supervises.")
      .argument("<config>", "path of the config module, such as app.config.ts")
      .option("-p, --processes <n>", "how many processes", wholeNumber(1, 256), 1)
      .addOption(storeOption("the config's, or RHEO_STORE"))
      .option(
        "--drain-timeout <duration>",
        "how long handlers may finish (default: the config's stopTimeoutMs, or 10s)",
        duration,
      )
      .option("--hang-timeout <duration>", "replace a process that gives no sign of life for so long (default: 10s)", duration)
      .option("--start-timeout <duration>", "replace one that gets nowhere in its start for so long (default: 60s)", duration)
      .option("--max-restarts <n>", "failures of one process that are answered by a restart (default: 5)", wholeNumber(0, 1_000))
      .option("--within <duration>", "… in this time (default: 60s)", duration)
      .option("--ready-file <path>", "a file that is there as long as all consumers run")
      .option("--json", "a JSON object on each line", false)
      .addHelpText("after", EPILOGUE)
      .action(async (config: string, flags: StartFlags) =>
        ended(await run({ config, flags, fallbackStore: io.env.RHEO_STORE || null }, io)),
      );
  },
};

const run = async (request: StartRequest, io: Io): Promise<number> => {
  const { flags } = request;
  const printer = flags.json ? jsonPrinter(io, () => Date.now()) : textPrinter(io);
  const readyFile = new ReadyFile(flags.readyFile ?? null);
  try {
    const runnable =
      flags.processes === 1 ? await inThisProcess(request, printer, readyFile) : inChildren(request, printer, readyFile);
    // one that comes when it has just ended must not be what ends the process, and decides its exit code
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
    return await runToEnd(runnable, process);
  } catch (error) {
    if (isUsageError(error)) throw error;
    printer.warn(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return EXIT.failed;
  } finally {
    readyFile.remove();
  }
};
