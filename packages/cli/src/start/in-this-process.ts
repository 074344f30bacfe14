import { App, configHref, loadConfig, narrate, type Runnable, STOP_TIMEOUT_MS } from "@rheo/runtime/internal";
import type { StartRequest } from "./flags.ts";
import type { StartPrinter } from "./printer.ts";
import type { ReadyFile } from "./ready-file.ts";

/** The consumers in this process. @throws invalid_option, invalid_name - the config cannot be run */
export const inThisProcess = async (request: StartRequest, printer: StartPrinter, readyFile: ReadyFile): Promise<Runnable> => {
  process.env.RHEO_PROCESS = "1"; // as in children, so that a config need not know
  process.env.RHEO_PROCESSES = "1";
  const { flags, fallbackStore } = request;
  const config = await loadConfig(configHref(request.config));
  const stopTimeoutMs = flags.drainTimeout ?? config.stopTimeoutMs ?? STOP_TIMEOUT_MS;
  const app = new App({
    config,
    store: flags.store ?? null,
    fallbackStore,
    isShared: false,
    host: {
      opened: (rheo) => narrate(rheo.events, printer),
      waiting: (error, nextInMs) => printer.warn(`waits for the store (next try in ${nextInMs} ms): ${error.message}`),
      ready: () => {
        readyFile.write();
        printer.ready(1);
      },
    },
  });
  return {
    start: () => app.start(),
    end: (timeoutMs) => {
      readyFile.remove();
      return app.end(timeoutMs ?? stopTimeoutMs);
    },
    restart: () => printer.warn("SIGHUP replaces processes one at a time, which takes --processes 2 or more"),
    failure: app.failure.then((error) => printer.warn(`given up: ${error.message}`)),
  };
};
