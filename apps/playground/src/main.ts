/** The command: reads the options, serves the playground, and ends it with the terminal. */
import { RheoError } from "@rheo/core";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { UsageError } from "./place.ts";
import { runPlayground } from "./run-playground.ts";

const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

interface Flags {
  readonly port: number;
  readonly store?: string;
}

const parsePort = (text: string): number => {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a number from 0 to 65535.");
};

const command = new Command("rheo-playground")
  .description(
    "Serves a page on this machine where consumers are started, slowed, frozen and killed, beside the dashboard of what becomes of it. Ctrl-C ends it, and leaves nothing.",
  )
  .option("--port <number>", "where to listen, on 127.0.0.1; 0: a free one", parsePort, 8_322)
  .option("--store <url>", "a store that processes share: sqlite:, postgres: or redis: (default: a temporary SQLite file)")
  .allowExcessArguments(false)
  .exitOverride();

const run = async ({ port, store }: Flags): Promise<number> => {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());
  process.stdout.on("error", () => ending.abort()); // nobody reads on
  try {
    await runPlayground({
      port,
      store: store ?? null,
      signal: ending.signal,
      opened: (at) =>
        process.stdout.write(`The playground is at ${at.url}\nIts store: ${at.store}\nCtrl-C ends it, and leaves nothing.\n`),
    });
    return EXIT.ok;
  } catch (error) {
    return explain(error);
  }
};

const explain = (error: unknown): number => {
  if (!(error instanceof UsageError) && !RheoError.is(error)) throw error;
  process.stderr.write(`rheo-playground: ${error.message}\n`);
  const isUsage = error instanceof UsageError || error.code === "invalid_option" || error.code === "unsupported";
  return isUsage ? EXIT.usage : EXIT.failed;
};

try {
  command.parse();
  process.exitCode = await run(command.opts<Flags>());
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}
