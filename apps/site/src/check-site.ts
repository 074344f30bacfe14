/** Looks at the built site as a browser would: every link and picture must lead to a file of it, and every anchor to a place there. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SITE } from "./places.ts";

/** Made by a script of the page that is shown for what is not there. */
const NO_PAGE = "404.html";
const REFERENCE = /<(?:a|img|link|script)\b[^>]*? (?:href|src)="([^"]*)"/g;
const EXTERNAL = /^(?:[a-z]+:|\/\/)/i;

/** @returns how many pages there are @throws when a link leads nowhere, naming the page and the link */
export const checkSite = (site: string = SITE): number => {
  const files = new Set(readdirSync(site, { recursive: true, encoding: "utf8" }));
  const pages = [...files].filter((file) => file.endsWith(".html") && file !== NO_PAGE);
  const texts = new Map(pages.map((page) => [page, readFileSync(join(site, page), "utf8")]));
  const anchors = new Map([...texts].map(([page, text]) => [page, anchorsOf(text)]));
  const broken = [...texts].flatMap(([page, text]) =>
    referencesOf(page, text)
      .filter(({ file, hash }) => !files.has(file) || (hash !== "" && anchors.get(file)?.has(hash) === false))
      .map(({ href }) => `${page}: ${href}`),
  );
  if (broken.length > 0) throw new Error(`These links lead nowhere:\n${broken.join("\n")}`);
  return pages.length;
};

const anchorsOf = (text: string): ReadonlySet<string> => new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id));

const referencesOf = (page: string, text: string): { href: string; file: string; hash: string }[] =>
  [...text.matchAll(REFERENCE)]
    .map(([, href = ""]) => href.replaceAll("&amp;", "&"))
    .filter((href) => href !== "" && !EXTERNAL.test(href))
    .map((href) => {
      const [path = "", hash = ""] = href.split("#");
      return { href, file: fileOf(page, decodeURI(path)), hash: decodeURIComponent(hash) };
    });

const fileOf = (page: string, path: string): string => {
  if (path === "") return page;
  const file = path.startsWith("/") ? path.slice(1) : join(dirname(page), path);
  return file === "" || file.endsWith("/") ? `${file}index.html` : file;
};
