/** The navigation: what is read first stands first. A page that is not there yet is left out; one that no section names is in the last. */
import type { DefaultTheme } from "vitepress";

interface Section {
  readonly title: string;
  /** Paths in the site; one that ends with `/*` means every page below it. */
  readonly pages: readonly string[];
  readonly isCollapsed?: boolean;
}

const SECTIONS: readonly Section[] = [
  { title: "Start", pages: ["quick-start", "guarantees", "glossary"] },
  {
    title: "Walkthroughs",
    pages: [
      ...["quickstart", "concepts", "ops", "pipelines", "backends", "dashboard"].map((name) => `walkthroughs/${name}`),
      "walkthroughs/*",
    ],
  },
  {
    title: "Guide",
    pages: [
      "guide/append",
      "guide/fetch-and-settle",
      "guide/consume",
      "handlers",
      "guide/query",
      "guide/replay",
      "guide/partitions-and-lag",
      "guide/ops",
      "testing",
      "examples/*",
    ],
  },
  { title: "Run", pages: ["configuration", "production", "troubleshooting", "performance", "profiles", "sizing", "bundling"] },
  { title: "Move to Rheo", pages: ["migrating/index", "migrating/*"] },
  { title: "How it works", pages: ["semantics", "architecture", "proof", "bug-corpus", "mongodb-double", "backends"] },
  { title: "Packages", pages: ["packages/*"], isCollapsed: true },
  { title: "Decisions", pages: ["adr/index", "adr/*"], isCollapsed: true },
  {
    title: "Project",
    pages: ["readme", "contributing", "versioning", "packages", "security", "changelog", "changes/*"],
    isCollapsed: true,
  },
];

/** Pages that have a place of their own: the landing page, and the API reference. */
const ELSEWHERE = /^(?:index$|api\/)/;

/** @param pages - path in the site without `.md` → title */
export const sidebarOf = (pages: ReadonlyMap<string, string>): DefaultTheme.SidebarItem[] => {
  const left = new Set([...pages.keys()].filter((page) => !ELSEWHERE.test(page)).sort());
  const take = (name: string): string[] => {
    const taken = [...left].filter((page) => (name.endsWith("/*") ? page.startsWith(name.slice(0, -1)) : page === name));
    for (const page of taken) left.delete(page);
    return taken;
  };
  const sections = SECTIONS.map((section) => ({ ...section, found: section.pages.flatMap(take) }));
  const all = [...sections, { title: "More", found: [...left], isCollapsed: false }];
  return all
    .filter(({ found }) => found.length > 0)
    .map(({ title, found, isCollapsed }) => ({
      text: title,
      items: found.map((page) => ({ text: pages.get(page) ?? page, link: `/${page.replace(/(^|\/)index$/, "$1")}` })),
      ...(isCollapsed === true ? { collapsed: true } : {}),
    }));
};
