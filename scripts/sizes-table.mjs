/** The table of sizes in docs/packages.md, between its two marks. */
import { join } from "node:path";
import { ROOT } from "./packages.mjs";

export const SIZES_PAGE = join(ROOT, "docs", "packages.md");
const TABLE = /(<!-- sizes: written by npm run sizes -->\n)[\s\S]*(<!-- end of sizes -->)/;
const ROW = /^\| `([^`]+)` \| (\d+) kB \| (\d+) kB \|/gm;

const kilobytes = (bytes) => `${Math.round(bytes / 1024)} kB`;
const megabytes = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

/** The page with these sizes in place of those it had. */
export const withSizes = (page, sizes) => {
  const rows = sizes
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(
      ({ name, packed, unpacked, installed, packages }) =>
        `| \`${name}\` | ${kilobytes(packed)} | ${kilobytes(unpacked)} | ${megabytes(installed)} | ${packages} |`,
    );
  const head = ["| package | tarball | unpacked | installed with all it needs | packages in all |", "|---|---|---|---|---|"];
  if (!TABLE.test(page)) throw new Error(`${SIZES_PAGE} has no place for the table.`);
  return page.replace(TABLE, (_, begin, end) => `${begin}\n${[...head, ...rows].join("\n")}\n\n${end}`);
};

/** What the page says of the unpacked size of each package, in bytes. */
export const statedSizes = (page) =>
  new Map([...page.matchAll(ROW)].map(([, name, , unpacked]) => [name, Number(unpacked) * 1024]));
