/** The public packages, as the workspaces say, and their tarballs. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

const npm = (args, cwd = ROOT) => execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

/** Every package that is published: its name, folder and package.json. */
export const publicPackages = () =>
  JSON.parse(npm(["query", ".workspace"]))
    .filter((workspace) => workspace.private !== true)
    .map(({ name, location }) => ({
      name,
      folder: location,
      manifest: JSON.parse(readFileSync(join(ROOT, location, "package.json"), "utf8")),
    }));

/** Packs all of them into `folder`, in one call. @returns what npm says of each, with the path of its tarball */
export const packAll = (folder) => {
  const wanted = publicPackages().flatMap(({ folder: location }) => ["-w", location]);
  const packed = JSON.parse(npm(["pack", ...wanted, "--json", "--pack-destination", folder]));
  return Object.values(packed).map((one) => ({ ...one, tarball: resolve(folder, one.filename) }));
};

/** The entry points of a package that hold code, as one imports them, with their types. `./internal` is no promise, but must load. */
export const entryPoints = ({ name, manifest }) =>
  Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === "object")
    .map(([path, { types }]) => ({ path, types, specifier: path === "." ? name : `${name}/${path.slice(2)}` }));
