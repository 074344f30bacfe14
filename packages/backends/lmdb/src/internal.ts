export { planMap } from "./address-space.ts";
export { fileSystemOf } from "./file-system.ts";
export { optionsFromUrl, resolveOptions } from "./options.ts";
