import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { arch, cpus, platform, release, totalmem } from "node:os";

export interface Machine {
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
}

export const describeMachine = (): Machine => ({
  platform: `${platform()} ${release()} ${arch()}`,
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
});

/** The version of a package as it is installed here, by its folder: not every package exports its package.json. */
export const versionOf = (name: string): string => {
  try {
    const entry = import.meta.resolve(name);
    const folder = `/node_modules/${name}/`;
    const path = new URL(`${entry.slice(0, entry.lastIndexOf(folder))}${folder}package.json`);
    return String((JSON.parse(readFileSync(path, "utf8")) as { version?: string }).version);
  } catch {
    return "not installed";
  }
};

/** Versions of Node and of what decides the results. */
export const describeVersions = (): Readonly<Record<string, string>> => ({
  node: process.version,
  ...Object.fromEntries(["libsql", "lmdb", "pg", "ioredis", "mongodb", "piscina"].map((name) => [name, versionOf(name)])),
});

/** What a run itself changes is not counted as changed. */
const MEASURED = [":(top)", ":(top,exclude)apps/bench/results", ":(top,exclude)docs"];

/** The commit that is measured, with `+` where files were changed since; "unknown" outside a repository. */
export const describeCommit = (): string => {
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no", "--", ...MEASURED);
    return `${git("rev-parse", "--short", "HEAD")}${changed === "" ? "" : "+"}`;
  } catch {
    return "unknown";
  }
};

const git = (...args: readonly string[]): string =>
  execFileSync("git", args, { cwd: new URL(".", import.meta.url), encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
