import { isThenable } from "@rheo/core/internal";
import type { Logger } from "./handler.ts";

/** A logger whose faults harm nobody (B57): one that throws or rejects has only lost its line. */
export const contained = (logger: Logger): Logger => {
  const guard =
    (level: keyof Logger) =>
    (...parts: unknown[]): void => {
      try {
        const result: unknown = logger[level](...parts);
        if (isThenable(result)) result.then(undefined, () => undefined);
      } catch {
        // there is nowhere left to tell
      }
    };
  return { debug: guard("debug"), info: guard("info"), warn: guard("warn"), error: guard("error") };
};
