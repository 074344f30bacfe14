/** How the site is made: every Markdown file of the repository is a page, where `page-path.ts` says. */
import { join } from "node:path";
import { slug } from "github-slugger";
import { type DefaultTheme, defineConfig, type UserConfig } from "vitepress";
import { apiNames, linkApiNames } from "./api-names.ts";
import { publicEntryPoints } from "./entry-points.ts";
import { repositoryLinks } from "./links.ts";
import { NO_PAGES, pagePath } from "./page-path.ts";
import { pageTitles } from "./pages.ts";
import { HOME, ROOT, SITE } from "./places.ts";
import { sidebarOf } from "./sections.ts";

/** An entry point each; its page lists what it exports. */
const api = publicEntryPoints().map(({ name }) => ({ text: name, link: `/api/${name}/` }));

const pages = pageTitles();

/** The first of them that is there. */
const first = (...names: readonly string[]): string => `/${names.find((name) => pages.has(name)) ?? "readme"}`;

const config: UserConfig<DefaultTheme.Config> = defineConfig({
  title: "Rheo",
  description: "Durable consumer groups for Node, in a store you already run",
  lang: "en",
  srcDir: ROOT,
  srcExclude: [...NO_PAGES],
  rewrites: pagePath,
  outDir: SITE,
  cacheDir: join(SITE, "../vitepress-cache"),
  vite: { publicDir: join(HOME, ".vitepress/public"), build: { chunkSizeWarningLimit: 4_000 } },
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/mark.svg" }]],
  markdown: {
    // as on the pages of a repository: the same anchors, and nothing in braces or between colons means anything
    anchor: { slugify: slug },
    attrs: false,
    emoji: false,
    snippet: false,
    include: false,
    component: false,
    config: (md) => {
      repositoryLinks(md);
      linkApiNames(apiNames())(md);
    },
  },
  themeConfig: {
    logo: "/mark.svg",
    search: { provider: "local", options: { detailedView: true } },
    outline: [2, 3],
    nav: [
      { text: "Guide", link: first("quick-start", "readme") },
      { text: "API", link: "/api/", activeMatch: "^/api/" },
      { text: "What it promises", link: "/semantics" },
    ],
    sidebar: { "/api/": [{ text: "API reference", link: "/api/", items: api }], "/": sidebarOf(pages) },
    docFooter: { prev: "Before", next: "Next" },
  },
});

export default config;
