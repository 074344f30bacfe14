import { type Rheo, RheoError } from "@rheo/core";
import { parseOptions } from "@rheo/core/internal";
import type { Supervisor } from "../supervise.ts";
import { parseManner, parseWork, type SuperviseOptions, WORK_NAMES } from "../supervise-options.ts";

/** Somebody who looks on, such as the metrics of `@rheo/telemetry`. */
export interface Observer {
  /** Told of the consumers once they have been started. */
  watch?(app: Supervisor): void;
  /** Told when they have ended, before the store is closed. */
  close?(): void | Promise<void>;
}

/** What `rheo start` runs: the options of `supervise`, and the store that they are run on. */
export interface AppConfig extends Omit<SuperviseOptions, "rheo"> {
  /**
   * Where the events are: a store URL as `Rheo.open` takes it, or a function that opens the instance, called once in each process.
   * May be left out where `rheo start --store` or RHEO_STORE gives it.
   */
  readonly store?: string | (() => Rheo | Promise<Rheo>);
  /**
   * Called in each process when its store is open, before anything is consumed: `observe: (rheo) => prometheus({ rheo })`. One that
   * throws, then or later, is reported and disturbs nothing.
   */
  readonly observe?: (rheo: Rheo) => Observer | undefined | Promise<Observer | undefined>;
}

/**
 * Types and checks the default export of a config module. Starts nothing and opens nothing.
 *
 * ```ts
 * export default defineConfig({ store: "sqlite:./events.db", consumers: [risk, billing], threads: 4 });
 * ```
 * @throws invalid_option, invalid_name
 */
export const defineConfig = (config: AppConfig): AppConfig => parseConfig(config, "The config");

/** The same, of what a module exports. @throws invalid_option, invalid_name */
export const parseConfig = (value: unknown, what: string): AppConfig => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new RheoError(
      "invalid_option",
      `${what} is not an object. Write: export default defineConfig({ store, consumers: [ … ] }).`,
      { path: "default" },
    );
  const store: unknown = Reflect.get(value, "store");
  if (store !== undefined && typeof store !== "function" && (typeof store !== "string" || store === ""))
    throw new RheoError(
      "invalid_option",
      `${what}: store is a URL such as "sqlite:./events.db", or a function that returns what Rheo.open(…) returns.`,
      { path: "store" },
    );
  const observe: unknown = Reflect.get(value, "observe");
  if (observe !== undefined && typeof observe !== "function")
    throw new RheoError("invalid_option", `${what}: observe is a function of the open instance.`, { path: "observe" });
  if ("rheo" in value)
    throw new RheoError(
      "invalid_option",
      `${what}: each process opens the store itself. Instead of rheo, give store: () => Rheo.open(…).`,
      { path: "rheo" },
    );
  parseManner(parseOptions(what, value, ["store", "observe", ...WORK_NAMES]));
  return Object.freeze({ ...value, ...parseWork(`${what}: `, value) });
};
