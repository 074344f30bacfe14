/** Private servers beside the process that started them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { answers } from "@rheo/testing/servers";
import { expect, onTestFinished, test } from "vitest";

const STARTER = `
  import { startPostgres } from "@rheo/testing/servers";
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

test.skipIf(process.platform !== "linux")(
  "a PostgreSQL and its guard are in sessions of their own, so that Ctrl-C at a terminal is not for them",
  async () => {
    const { starter } = await start();
    const children = readFileSync(`/proc/${starter.pid}/task/${starter.pid}/children`, "utf8").trim().split(" ");
    const sessions = children.map(
      (pid) =>
        readFileSync(`/proc/${pid}/stat`, "utf8")
          .replace(/^.*\) /, "")
          .split(" ")[3],
    );
    expect(sessions).toEqual(children);
  },
);
