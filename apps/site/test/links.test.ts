/** What becomes of links and names on their way from a file of the repository to a page of the site. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import MarkdownIt from "markdown-it";
import { describe, expect, onTestFinished, test } from "vitest";
import { linkApiNames } from "../src/api-names.ts";
import { checkSite } from "../src/check-site.ts";
import { repositoryLinks } from "../src/links.ts";
import { isPage, pagePath } from "../src/page-path.ts";
import { ROOT } from "../src/places.ts";
import { sidebarOf } from "../src/sections.ts";

const render = (text: string, from = "docs/semantics.md"): string => {
  const md = new MarkdownIt();
  repositoryLinks(md);
  return md.render(text, { realPath: join(ROOT, from) }).trim();
};

describe("a link in a file of the repository", () => {
  test.each([
    ["[a](proof.md#x)", '<a href="/proof.md#x">a</a>'],
    ["[a](../packages/cli/README.md)", '<a href="/packages/cli.md">a</a>'],
    ["[a](../packages/cli)", '<a href="/packages/cli.md">a</a>'],
    ["[a](adr)", '<a href="/adr/index.md">a</a>'],
    ["[a](#the-log)", '<a href="#the-log">a</a>'],
    ["[a](https://example.com/x.md)", '<a href="https://example.com/x.md">a</a>'],
  ])("%s leads to the page", (link, html) => {
    expect(render(link)).toBe(`<p>${html}</p>`);
  });

  test("to a source file stays as text", () => {
    expect(render("see [the port](../packages/core/src/backend.ts)")).toBe("<p>see the port</p>");
  });

  test("to a file that is nowhere is an error that names both", () => {
    expect(() => render("[a](no-such.md)")).toThrow("docs/semantics.md links to no-such.md, which is not there");
  });
});

describe("a name in code style", () => {
  const names = new Map(
    ["supervise", "Rheo.open", "rheo.queryPage", "queryPage", "ack", "FetchOptions"].map((name) => [name, `/api/${name}`]),
  );
  const md = new MarkdownIt();
  linkApiNames(names)(md);

  test.each(["supervise(…)", "await Rheo.open(url)", "rheo.queryPage", "queryPage", "ack()", "FetchOptions"])(
    "%s leads to the API",
    (name) => {
      expect(md.render(`\`${name}\``, {})).toContain('<a href="/api/');
    },
  );

  test.each(["ack", "supervise", "unknown()", "rheo.unknown"])("%s is not clear enough, or unknown", (name) => {
    expect(md.render(`\`${name}\``, {})).not.toContain("<a");
  });

  test("is left alone in a heading and in a link", () => {
    expect(md.render("# `queryPage`\n\n[`queryPage`](x.md)", {})).not.toContain("/api/");
  });
});

describe("the place of a file", () => {
  test.each([
    ["docs/guide/append.md", "guide/append.md"],
    ["docs/index.md", "index.md"],
    ["docs/ARCHITECTURE.md", "architecture.md"],
    ["docs/adr/README.md", "adr/index.md"],
    ["README.md", "readme.md"],
    ["packages/backends/redis/README.md", "packages/redis.md"],
    ["packages/core/CHANGELOG.md", "changes/core.md"],
    ["examples/outbox/README.md", "examples/outbox/index.md"],
  ])("%s is %s", (file, page) => {
    expect(pagePath(file)).toBe(page);
  });

  test.each([".changeset/site.md", "packages/core/test/a.md", "node_modules/a/README.md", "api/core.api.md"])(
    "%s is none",
    (file) => {
      expect(isPage(file)).toBe(false);
    },
  );

  test("a page that no section names is in the last, and none is twice", () => {
    const sidebar = sidebarOf(
      new Map(["semantics", "adr/index", "adr/0001-a", "odd", "index", "api/x"].map((page) => [page, page])),
    );
    expect(sidebar.map(({ text, items }) => [text, items?.map(({ link }) => link)])).toEqual([
      ["How it works", ["/semantics"]],
      ["Decisions", ["/adr/", "/adr/0001-a"]],
      ["More", ["/odd"]],
    ]);
  });
});

describe("the check of the built site", () => {
  const siteOf = (body: string): string => {
    const folder = mkdtempSync(join(tmpdir(), "rheo-site-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "index.html"), `<h1 id="here">a</h1>${body}`);
    writeFileSync(join(folder, "other.html"), '<h2 id="there">b</h2>');
    return folder;
  };

  test("is content with links to files, folders and anchors that are there", () => {
    expect(checkSite(siteOf('<a href="#here"></a><a class="x" href="/other.html#there"></a><a href="/"></a>'))).toBe(2);
  });

  test.each(["/none.html", "/other.html#here", "#there", "./other.md"])("finds %s, which leads nowhere", (href) => {
    expect(() => checkSite(siteOf(`<a href="${href}"></a>`))).toThrow(`index.html: ${href}`);
  });

  test("finds a picture that is not there", () => {
    expect(() => checkSite(siteOf('<img alt="" src="/none.svg">'))).toThrow("index.html: /none.svg");
  });
});
