/** Private servers beside the process that started them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { answers } from "@rheo/testing/servers";
import { expect, onTestFinished, test } from "vitest";

const STARTER = `
  import { startPostgres } from "@rheo/testing/servers";
  process.on("SIGINT", () => console.log("interrupted"));
  console.log((await startPostgres()).port);
`;

/** A process with a PostgreSQL of its own, and the port of that. */
const start = async (): Promise<{ readonly starter: ChildProcess; readonly port: number }> => {
  const starter = spawn(process.execPath, ["--input-type=module", "-e", STARTER], {
    cwd: import.meta.dirname,
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void starter.kill("SIGKILL"));
  const [port] = (await once(starter.stdout, "data")) as [Buffer];
  return { starter, port: Number(port) };
};

test("a PostgreSQL that nobody stopped ends with the process that started it", async () => {
  const { starter, port } = await start();
  expect(await answers(port)).toBe(true);
  starter.kill("SIGKILL");
  await expect.poll(() => answers(port), { timeout: 10_000 }).toBe(false);
});

test("Ctrl-C at a terminal leaves a PostgreSQL to the process that started it", async () => {
  const { starter, port } = await start();
  process.kill(-(starter.pid ?? 0), "SIGINT"); // to the whole group, as a terminal sends it
  if (starter.stdout !== null) await once(starter.stdout, "data");
  expect(await answers(port)).toBe(true);
});
