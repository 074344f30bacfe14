import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { type Rheo, RheoError } from "@rheo/core";

/** What is used of `@rheo/dashboard`, which is installed by those who want it. */
export interface DashboardModule {
  readonly serveDashboard: (options: {
    readonly rheo: Rheo;
    readonly port: number;
    readonly host: string;
    readonly token?: string;
  }) => Promise<{ readonly url: string; close(): Promise<void> }>;
}

const NAME = "@rheo/dashboard";

/** Beside this package, else from the working directory. @throws unsupported - it is not installed */
export const loadDashboard = async (): Promise<DashboardModule> => {
  const module = (await importIfThere(() => NAME)) ?? (await importIfThere(fromHere));
  if (module === null) throw new RheoError("unsupported", `${NAME} is not installed. Run: npm install ${NAME}`);
  return module as DashboardModule; // by its name
};

const fromHere = (): string => pathToFileURL(createRequire(`${process.cwd()}/`).resolve(NAME)).href;

const importIfThere = async (where: () => string): Promise<object | null> => {
  try {
    return (await import(where())) as object; // modules are objects
  } catch (error) {
    if (error instanceof Error && "code" in error && /MODULE_NOT_FOUND$/.test(String(error.code)) && error.message.includes(NAME))
      return null;
    throw error;
  }
};
