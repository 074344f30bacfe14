/** However a supervisor is stopped, nothing of it keeps the process alive: real processes, which must end by themselves. */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startPostgres } from "@rheo/testing/servers";
import { describe, expect, test } from "vitest";
import { fixture } from "./store.ts";

const STOPS = fileURLToPath(fixture("stops.mjs"));
const names: readonly string[] = JSON.parse(execFileSync(process.execPath, [STOPS, "names"]).toString());

/** What it said, and how it ended. */
const run = async (
  scenario: string,
  store: string[] = [],
  onStart: (child: ChildProcess) => void = () => {},
): Promise<{ readonly code: number | null; readonly said: string }> => {
  const child = fork(STOPS, [scenario, ...store], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    timeout: 30_000,
    killSignal: "SIGKILL",
  });
  let said = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  onStart(child);
  child.channel?.unref();
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, said };
};

describe("a process whose supervisor was stopped", () => {
  for (const name of names) {
    // a measured time, so a busy machine gets another try
    test(`${name} ends by itself within a second`, { retry: 3 }, async () => {
      expect(await run(name)).toEqual({ code: 0, said: "stopped\n" });
    });
  }

  test("has printed all that its handlers printed in threads", async () => {
    const { code, said } = await run("after much was printed");
    const printed = ["delivery", "teardown"].flatMap((name) => Array.from({ length: 50 }, (_, line) => `${name} line ${line}`));
    expect(said.trimEnd().split("\n")).toEqual([...printed, "stopped"]);
    expect(code).toBe(0);
  });

  test("with a PostgreSQL that was killed ends by itself", async () => {
    const server = await startPostgres();
    try {
      const { code } = await run("when told by its parent", [server.url], (child) =>
        child.once("message", () => void server.kill().then(() => child.send("stop"))),
      );
      expect(code).toBe(0);
    } finally {
      await server.stop();
    }
  });
});
