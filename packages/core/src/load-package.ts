import { createRequire } from "node:module";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { RheoError } from "./errors.ts";

/**
 * A package that is installed by those who want it: beside this one, else from where the program's main file lies, else from the working
 * directory, because strict package managers show a package only its own dependencies.
 * @throws unsupported - it is not installed, or a package that it needs beside it is not; the message says what to run
 */
export const loadPackage = async (name: string): Promise<object> => {
  const files = [process.argv[1] ?? "", join(process.cwd(), "main.js")].filter((file) => isAbsolute(file));
  const places = [() => name, ...files.map((file) => () => pathToFileURL(createRequire(file).resolve(name)).href)];
  for (const place of places) {
    const module = await importIfThere(name, place);
    if (module !== null) return module;
  }
  throw new RheoError("unsupported", `${name} is not installed. Run: npm install ${name}`);
};

const importIfThere = async (name: string, where: () => string): Promise<object | null> => {
  try {
    return (await import(where())) as object; // modules are objects
  } catch (cause) {
    const missing = missingPackage(cause);
    if (missing === null) throw cause;
    if (missing === name) return null;
    const message = `${name} needs ${missing}, which is not installed. Run: npm install ${missing}`;
    throw new RheoError("unsupported", message, {}, { cause });
  }
};

/** The package that was not found, as Node's two loaders and Yarn's say it; null when the error is another, or a file was not found. */
const missingPackage = (error: unknown): string | null => {
  if (!(error instanceof Error && "code" in error && /MODULE_NOT_FOUND$/.test(String(error.code)))) return null;
  const [, place] = /(?:Cannot find (?:package|module) '|Required package: )([^'\s]+)/.exec(error.message) ?? [];
  if (place === undefined || isAbsolute(place)) return null;
  return /^(?:@[^/]+\/)?[^/@.][^/]*/.exec(place)?.[0] ?? null;
};
