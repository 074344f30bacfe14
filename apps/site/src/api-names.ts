/** Names in code style that the API reference knows lead there: `Rheo.open`, `rheo.queryPage`, `FetchOptions`, `supervise(…)`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";
import { publicEntryPoints } from "./entry-points.ts";
import { API } from "./places.ts";

/** Classes whose methods are known by `Class.method`, and by the name that guides give to their instance. */
const INSTANCES: Readonly<Record<string, string>> = { Rheo: "rheo" };
/** A name alone is clear if it is two words in one; `ack` or `query` may be anything unless it is called. */
const IS_CLEAR = /[a-z][A-Z]|^[A-Z]\w+$|\./;
const CALL = /\(.*\)$/s;
/** Types of the language, and words that only look like one of ours. */
const ANOTHERS = new Set(["Event", "Timer", "Json", "Count", "Group"]);

/** name → page. Of several packages that export a name the first one explains it. */
export const apiNames = (): ReadonlyMap<string, string> => {
  const names = new Map<string, string>();
  for (const { name: module } of publicEntryPoints())
    for (const kind of ["classes", "functions", "interfaces", "type-aliases", "variables"])
      for (const [name, page] of namesOf(`${module}/${kind}`)) if (!names.has(name)) names.set(name, page);
  return names;
};

const namesOf = (folder: string): (readonly [string, string])[] => {
  const place = join(API, folder);
  if (!existsSync(place)) return [];
  return readdirSync(place).flatMap((file) => {
    const name = basename(file, ".md");
    const page = `/api/${folder}/${name}`;
    return [[name, page] as const, ...(folder.endsWith("/classes") ? methodsOf(name, page, join(place, file)) : [])];
  });
};

const methodsOf = (owner: string, page: string, file: string): (readonly [string, string])[] =>
  [...readFileSync(file, "utf8").matchAll(/^### (\w+)\(\)/gm)].flatMap(([, method = ""]) => {
    const place = `${page}#${method.toLowerCase()}`;
    const instance = INSTANCES[owner];
    const isLone = instance !== undefined && /[A-Z]/.test(method);
    return [`${owner}.${method}`, ...(instance === undefined ? [] : [`${instance}.${method}`]), ...(isLone ? [method] : [])].map(
      (name) => [name, place] as const,
    );
  });

export const linkApiNames =
  (names: ReadonlyMap<string, string>) =>
  (md: MarkdownIt): void => {
    md.core.ruler.push("api_names", ({ tokens, env, Token }) => {
      if (/(?:^|\/)api\//.test(String(env.relativePath))) return;
      tokens.forEach((token, n) => {
        if (token.children === null || tokens[n - 1]?.type === "heading_open") return;
        token.children = linked(token.children, names, Token);
      });
    });
  };

const linked = (children: readonly Token[], names: ReadonlyMap<string, string>, Make: typeof Token): Token[] => {
  let depth = 0;
  return children.flatMap((token) => {
    depth += token.type === "link_open" ? 1 : token.type === "link_close" ? -1 : 0;
    const page = token.type === "code_inline" && depth === 0 ? pageOf(token.content, names) : undefined;
    if (page === undefined) return [token];
    const open = new Make("link_open", "a", 1);
    open.attrs = [
      ["href", page],
      ["class", "api-name"],
    ];
    return [open, token, new Make("link_close", "a", -1)];
  });
};

const pageOf = (code: string, names: ReadonlyMap<string, string>): string | undefined => {
  const name = code.replace(/^await /, "").replace(CALL, "");
  if (ANOTHERS.has(name) || !(CALL.test(code) || IS_CLEAR.test(name))) return undefined;
  return names.get(name);
};
