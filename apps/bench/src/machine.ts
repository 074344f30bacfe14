import { readFileSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";

export interface Machine {
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** Load of the last minute when the run began: numbers taken on a busy machine mean little. */
  readonly load: number;
}

export const describeMachine = (): Machine => ({
  platform: `${platform()} ${release()} ${arch()}`,
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
});

/** Versions of Node and of what decides the results. */
export const describeVersions = (): Readonly<Record<string, string>> => {
  const versionOf = (name: string): string => {
    try {
      const path = new URL(import.meta.resolve(`${name}/package.json`));
      return String((JSON.parse(readFileSync(path, "utf8")) as { version?: string }).version);
    } catch {
      return "not installed";
    }
  };
  return { node: process.version, libsql: versionOf("libsql"), piscina: versionOf("piscina") };
};
