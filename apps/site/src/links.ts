/**
 * Links between the files of the repository become links between pages of the site. What the repository has and the site has not, such
 * as a source file, is left as text; what is nowhere is an error.
 */
import { existsSync } from "node:fs";
import { join, posix, relative } from "node:path";
import type MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";
import { isPage, pagePath } from "./page-path.ts";
import { ROOT } from "./places.ts";

/** What VitePress says of the page that is rendered. `path` is where it stands in the site, unless there is a `realPath` beside it. */
interface Page {
  readonly path?: string;
  readonly realPath?: string;
}

const EXTERNAL = /^(?:[a-z]+:|\/\/|#|\/)/i;

export const repositoryLinks = (md: MarkdownIt): void => {
  md.core.ruler.push("repository_links", ({ tokens, env }) => {
    const { path = ROOT, realPath = path }: Page = env;
    const from = relative(ROOT, realPath);
    if (pagePath(from).startsWith("api/")) return;
    for (const { children } of tokens)
      children?.forEach((token, n) => void (token.type === "link_open" && mend(children, n, from)));
  });
};

const mend = (tokens: Token[], start: number, from: string): void => {
  const href = decodeURI(tokens[start]?.attrGet("href") ?? "");
  if (href === "" || EXTERNAL.test(href)) return;
  const [path = "", hash] = href.split("#");
  const target = posix.join(posix.dirname(from), path);
  const page = [target, posix.join(target, "README.md"), posix.join(target, "index.md")].find(isThere);
  if (page !== undefined) tokens[start]?.attrSet("href", `/${pagePath(page)}${hash === undefined ? "" : `#${hash}`}`);
  else if (existsSync(join(ROOT, target))) unlink(tokens, start);
  else throw new Error(`${from} links to ${path}, which is not there`);
};

const isThere = (file: string): boolean => isPage(file) && existsSync(join(ROOT, file));

const unlink = (tokens: Token[], start: number): void => {
  const end = tokens.findIndex(({ type }, n) => n > start && type === "link_close");
  for (const n of [start, end]) {
    const token = tokens[n];
    if (token !== undefined) Object.assign(token, { type: "html_inline", tag: "", content: "", attrs: null });
  }
};
