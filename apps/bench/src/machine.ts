import { readFileSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";

export interface Machine {
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** Load of the last minute when the run began, with nothing of its own yet: numbers taken on a busy machine mean little. */
  readonly load: number;
}

export const describeMachine = (): Machine => ({
  platform: `${platform()} ${release()} ${arch()}`,
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
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
  libsql: versionOf("libsql"),
  pg: versionOf("pg"),
  piscina: versionOf("piscina"),
});
