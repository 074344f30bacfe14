/**
 * Another copy of the packages, as another version would lie on a host beside this one: from the registry where RHEO_OLD_VERSION names a
 * released version, and until there is one, of what is built here.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const PACKAGES = ["core", "runtime", "backends/sqlite", "backends/postgres", "backends/redis"];
const CLIENTS = ["libsql", "pg", "ioredis"];

export interface OtherCopy {
  /** Of a module put into it. */
  readonly path: string;
  close(): void;
}

/** @param oldVersion - of the registry; null: what is built here */
export const otherCopy = (module: string, oldVersion: string | null): OtherCopy => {
  const folder = mkdtempSync(join(tmpdir(), "rheo-copy-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }');
  if (oldVersion === null) copyBuilt(folder);
  else {
    const wanted = PACKAGES.map((path) => `@rheo/${path.split("/").at(-1)}@${oldVersion}`);
    execFileSync("npm", ["install", "--no-audit", "--no-fund", ...wanted, ...CLIENTS], { cwd: folder, stdio: "ignore" });
  }
  const path = join(folder, "module.mjs");
  cpSync(module, path);
  return { path, close: () => rmSync(folder, { recursive: true, force: true }) };
};

const copyBuilt = (folder: string): void => {
  const linked = new Set<string>(CLIENTS);
  for (const path of PACKAGES) {
    const from = join(ROOT, "packages", path);
    const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as {
      readonly name: string;
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    const to = join(folder, "node_modules", manifest.name);
    mkdirSync(to, { recursive: true });
    cpSync(join(from, "package.json"), join(to, "package.json"));
    cpSync(join(from, "dist"), join(to, "dist"), { recursive: true });
    for (const name of Object.keys(manifest.dependencies ?? {})) if (!name.startsWith("@rheo/")) linked.add(name);
  }
  for (const name of linked) {
    const target = join(ROOT, "node_modules", name);
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    if (existsSync(target)) symlinkSync(target, link);
  }
};
