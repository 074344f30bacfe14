/** Where a Markdown file of the repository stands in the site. */

const RULES: readonly (readonly [from: RegExp, to: string])[] = [
  [/^docs\//, ""],
  [/^apps\/site\/tmp\/api\//, "api/"],
  [/^(?:packages\/backends|packages|apps)\/([^/]+)\/README\.md$/, "packages/$1.md"],
  [/^(?:packages\/backends|packages|apps)\/([^/]+)\/CHANGELOG\.md$/, "changes/$1.md"],
  [/^.*\/walkthroughs?\//, "walkthroughs/"],
  [/^README\.md$/, "readme.md"],
];

export const pagePath = (file: string): string => {
  const rule = RULES.find(([from]) => from.test(file));
  const moved = rule === undefined ? file : file.replace(rule[0], rule[1]);
  // capitals are a custom of repositories
  return moved.replace(/(^|\/)README\.md$/, "$1index.md").replace(/^[A-Z_]+\.md$/, (name) => name.toLowerCase());
};

/** Folders whose Markdown is not for readers; `pages` is what pages are made from. In those of sources VitePress would also take a `config.ts` of ours for one of its own. */
const NO_FOLDERS = ["node_modules", "dist", "test", "fixtures", "src", "web", "pages"];

/** Globs of what is no page. The reports of the API's shape are for those who change it. */
export const NO_PAGES: readonly string[] = [...NO_FOLDERS.map((folder) => `**/${folder}/**`), ".*/**", "tmp/**", "api/**"];

const IS_NO_PAGE = new RegExp(`^(?:\\.|(?:tmp|api)/|.*(?<![^/])(?:${NO_FOLDERS.join("|")})/)`);

/** The same by path. */
export const isPage = (file: string): boolean => file.endsWith(".md") && !IS_NO_PAGE.test(file);
