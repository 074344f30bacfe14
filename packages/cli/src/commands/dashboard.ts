import { addCommand, type CliCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { loadDashboard } from "../optional/dashboard.ts";
import { wholeNumber } from "../options/numbers.ts";
import { storeOptions } from "../options/store.ts";
import { type Session, type StoreFlags, withStore } from "../session/session.ts";

interface Flags extends StoreFlags {
  readonly port: number;
  readonly host: string;
  readonly token?: string;
}

/** `rheo dashboard`: the store in a browser, to look at. */
export const dashboard: CliCommand = {
  register: (program, io, ended) => {
    const command = addCommand(program, "dashboard", "look at the store in a browser, until Ctrl-C (needs @rheo/dashboard)")
      .option("--port <n>", "0: any that is free", wholeNumber(0, 65_535), 8_321)
      .option("--host <name>", "other than this host takes a token", "127.0.0.1")
      .option("--token <text>", "who looks must give it (default: RHEO_DASHBOARD_TOKEN)");
    storeOptions(command).action(async (flags: Flags) =>
      ended(await withStore(io, flags, (session) => run(session, flags, io.env.RHEO_DASHBOARD_TOKEN), { heedsSignals: true })),
    );
  },
};

const run = async ({ rheo, print, signal }: Session, { port, host, token: given }: Flags, fallback?: string): Promise<number> => {
  const token = given ?? fallback;
  const { serveDashboard } = await loadDashboard();
  const served = await serveDashboard({ rheo, port, host, ...(token === undefined || token === "" ? {} : { token }) });
  if (print.isJson) print.value({ url: served.url });
  else print.text(`The dashboard is at ${served.url} (Ctrl-C ends it)`);
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  await served.close();
  return EXIT.ok;
};
