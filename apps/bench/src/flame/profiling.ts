/** The sampling profiler of the thread that calls, and the folder that its profiles go to. */
import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { join } from "node:path";

/** The variable of the environment that names the folder. */
export const FOLDER = "RHEO_BENCH_PROFILES";
const INTERVAL_US = 200;

/** Begins. What it gives ends it, and writes the profile under a name. */
export const startProfile = async (): Promise<(name: string) => Promise<void>> => {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: INTERVAL_US });
  await session.post("Profiler.start");
  return async (name) => {
    const { profile } = await session.post("Profiler.stop");
    await writeFile(join(process.env[FOLDER] ?? ".", `${name}.cpuprofile`), JSON.stringify(profile));
  };
};
