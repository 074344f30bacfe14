import { RheoError } from "@rheo/core";
import { addCommand, type CliCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import type { Input, Io } from "../io.ts";
import { storeOptions } from "../options/store.ts";
import { type Session, type StoreFlags, withStore } from "../session/session.ts";
import { everyOption, watch } from "../session/watch.ts";
import { LiveView } from "../top/live-view.ts";
import { Rates } from "../top/rates.ts";
import { takeSample } from "../top/sample.ts";

interface Flags extends StoreFlags {
  readonly every: number;
}

const EPILOGUE = `
Keys: up, down or j, k mark a group; enter shows its members; s sorts otherwise; p holds; q ends.
OUT is how fast the frontiers move: in steps, where one delivery holds others up. Threads are known to their own process alone:
app.children() and @rheo/telemetry tell of them.`;

/** `rheo top`: all groups, live. */
export const top: CliCommand = {
  register: (program, io, ended) => {
    const command = addCommand(program, "top [stream]", "all groups, live: lag, rates, members")
      .addOption(everyOption("how often to look"))
      .addHelpText("after", EPILOGUE);
    storeOptions(command).action(async (stream: string | undefined, flags: Flags) => {
      const stdin = flags.json ? null : terminalOf(io);
      ended(await withStore(io, flags, (session) => run(session, stream ?? null, flags.every, stdin), { heedsSignals: true }));
    });
  },
};

/** Keys come from there. @throws invalid_option */
const terminalOf = ({ stdin, stdout }: Io): Input => {
  if (stdin?.isTTY === true && stdout.isTTY === true) return stdin;
  throw new RheoError("invalid_option", "rheo top needs a terminal. Elsewhere: rheo top --json, or rheo groups STREAM --watch.");
};

/** Without a terminal: as JSON. */
const run = async (session: Session, stream: string | null, everyMs: number, stdin: Input | null): Promise<number> => {
  if (stream !== null) await session.rheo.streamInfo(stream);
  if (stdin !== null) return (await new LiveView(session, stdin, stream, everyMs).run()) ? EXIT.ok : EXIT.interrupted;
  const rates = new Rates();
  return watch(session, everyMs, async () => ({ data: rates.rows(await takeSample(session.rheo, stream)), text: () => "" }));
};
