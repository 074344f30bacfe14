import { loadPackage } from "@rheo/core/internal";

/** What is used of `@rheo/demo`. */
export interface DemoModule {
  /** Runs it with these arguments, and gives its exit code. */
  readonly main: (args: readonly string[]) => Promise<number>;
}

/** @throws unsupported - it is not installed */
export const loadDemo = async (): Promise<DemoModule> => (await loadPackage("@rheo/demo")) as DemoModule; // by its name
