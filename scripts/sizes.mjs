/**
 * How large each package is: as a tarball, unpacked, and installed into an empty project with all that npm installs along with it.
 * `npm run sizes` writes the table in docs/packages.md; check-packages.mjs fails when a package has outgrown it.
 */
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packAll } from "./packages.mjs";
import { SIZES_PAGE, withSizes } from "./sizes-table.mjs";

const folder = mkdtempSync(join(tmpdir(), "rheo-sizes-"));

/** The sum of what is in the files below a folder, in bytes. */
const bytesIn = (place) =>
  readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + lstatSync(join(entry.parentPath, entry.name)).size, 0);

/** The sibling packages come from their tarballs, whatever the registry has. */
const installed = ({ name, tarball }, packed) => {
  const place = join(folder, name.replace("/", "-"));
  mkdirSync(place);
  const siblings = packed.filter((one) => one.name !== name).map((one) => [one.name, `file:${one.tarball}`]);
  const manifest = { private: true, dependencies: { [name]: `file:${tarball}` }, overrides: Object.fromEntries(siblings) };
  writeFileSync(join(place, "package.json"), JSON.stringify(manifest));
  const args = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error"];
  execFileSync("npm", args, { cwd: place, stdio: ["ignore", "ignore", "inherit"] });
  const { packages } = JSON.parse(readFileSync(join(place, "node_modules", ".package-lock.json"), "utf8"));
  return { bytes: bytesIn(join(place, "node_modules")), count: Object.keys(packages).length };
};

try {
  const tarballs = join(folder, "tarballs");
  mkdirSync(tarballs);
  const packed = packAll(tarballs);
  const sizes = packed.map((one) => {
    const { bytes, count } = installed(one, packed);
    return { name: one.name, packed: one.size, unpacked: one.unpackedSize, installed: bytes, packages: count };
  });
  writeFileSync(SIZES_PAGE, withSizes(readFileSync(SIZES_PAGE, "utf8"), sizes));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
