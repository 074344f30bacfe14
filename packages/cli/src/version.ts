import { createRequire } from "node:module";

/** Of this package. */
export const VERSION: string = (createRequire(import.meta.url)("../package.json") as { readonly version: string }).version;
