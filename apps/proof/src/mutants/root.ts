import { fileURLToPath } from "node:url";

/** From dist/mutants of this app. */
const ROOT = new URL("../../../../", import.meta.url);

/** Where the workspace lies. */
export const ROOT_PATH: string = fileURLToPath(ROOT);

/** A path from the root, as the URL of a module. */
export const urlOf = (file: string): string => new URL(file, ROOT).href;

/** The same as a path of this system. */
export const pathOf = (file: string): string => fileURLToPath(new URL(file, ROOT));
