import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/**
 * The API of the `tsx` that is installed beside a module, or in the working directory; null when there is none. Node has no synchronous
 * way to resolve for `import` from another place, so the CommonJS answer is turned into its twin.
 */
export const resolveTsx = (href: string): string | null => {
  for (const from of [href, pathToFileURL(`${process.cwd()}/package.json`).href]) {
    try {
      const path = createRequire(from).resolve("tsx/esm/api");
      return pathToFileURL(path.replace(/\.cjs$/, ".mjs")).href;
    } catch {}
  }
  return null;
};
