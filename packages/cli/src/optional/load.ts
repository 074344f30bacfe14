import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { RheoError } from "@rheo/core";

/** A package that is installed by those who want it: beside this one, else from the working directory. @throws unsupported - it is not installed */
export const loadOptional = async (name: string): Promise<object> => {
  const module = (await importIfThere(name, () => name)) ?? (await importIfThere(name, () => fromHere(name)));
  if (module === null) throw new RheoError("unsupported", `${name} is not installed. Run: npm install ${name}`);
  return module;
};

const fromHere = (name: string): string => pathToFileURL(createRequire(`${process.cwd()}/`).resolve(name)).href;

const importIfThere = async (name: string, where: () => string): Promise<object | null> => {
  try {
    return (await import(where())) as object; // modules are objects
  } catch (error) {
    if (error instanceof Error && "code" in error && /MODULE_NOT_FOUND$/.test(String(error.code)) && error.message.includes(name))
      return null;
    throw error;
  }
};
