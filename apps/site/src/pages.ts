/** The pages of the site and their titles, for the navigation. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isPage, pagePath } from "./page-path.ts";
import { ROOT } from "./places.ts";

/** Path in the site, without `.md` → title. Without the API reference, which has a navigation of its own. */
export const pageTitles = (): ReadonlyMap<string, string> =>
  new Map(
    markdownBelow("").map((file) => {
      const page = pagePath(file).replace(/\.md$/, "");
      return [page, titleOf(readFileSync(join(ROOT, file), "utf8")) ?? page];
    }),
  );

const markdownBelow = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}${entry.name}`;
    if (!entry.isDirectory()) return isPage(path) ? [path] : [];
    return isPage(`${path}/any.md`) && entry.name !== "tmp" ? markdownBelow(`${path}/`) : [];
  });

const titleOf = (text: string): string | undefined => /^# (.+)$/m.exec(text)?.[1]?.replaceAll("`", "").replace(/: .*$/, "");
