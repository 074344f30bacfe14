import { ProcessParent, parseProcessesOptions, type Runnable } from "@rheo/runtime/internal";
import type { StartFlags, StartRequest } from "./flags.ts";
import type { StartPrinter } from "./printer.ts";
import type { ReadyFile } from "./ready-file.ts";

/** The consumers in child processes, with this one as their parent. @throws invalid_option */
export const inChildren = (request: StartRequest, printer: StartPrinter, readyFile: ReadyFile): Runnable => {
  const parent = new ProcessParent(parseProcessesOptions({ ...optionsOf(request), onLine: (line) => printer.line(line) }));
  let wasReady = false;
  parent.observe((event) => {
    printer.event(event);
    if (event.type === "supervisor.draining") readyFile.remove();
    if (event.type !== "child.ready" || event.ready < event.processes || wasReady) return;
    wasReady = true;
    readyFile.write();
    printer.ready(event.processes);
  });
  return {
    start: () => parent.start(),
    end: (timeoutMs) => parent.drain(timeoutMs === null ? {} : { timeoutMs }),
    restart: () => parent.restart(),
    failure: parent.failure,
  };
};

const optionsOf = ({ config, flags, fallbackStore }: StartRequest): Parameters<typeof parseProcessesOptions>[0] => ({
  config,
  processes: flags.processes,
  ...given("store", flags.store),
  ...given("fallbackStore", fallbackStore ?? undefined),
  ...given("stopTimeoutMs", flags.drainTimeout),
  ...beats(flags),
  ...given("startMs", flags.startTimeout),
  ...given("maxRestarts", flags.maxRestarts),
  ...given("withinMs", flags.within),
});

const given = <Name extends string, Value>(name: Name, value: Value | undefined): { readonly [Key in Name]?: Value } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]: Value }); // the one name above

/** Ten signs of life before a silence counts, at most one each second. */
const beats = ({ hangTimeout }: StartFlags): { readonly hangMs?: number; readonly beatMs?: number } =>
  hangTimeout === undefined ? {} : { hangMs: hangTimeout, beatMs: Math.max(10, Math.min(1_000, Math.floor(hangTimeout / 10))) };
