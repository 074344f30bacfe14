/** A consumer that is killed: what it held goes to others, and what it had acked stays so. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Rheo } from "@rheo/core";
import { consume } from "@rheo/pipeline";
import { sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import { fill, lagOf, numbers, sequencesOf, until } from "./fixtures/store.ts";
import { sqliteFile } from "./fixtures/stores.ts";

const startHolder = async (file: string, how: string): Promise<ChildProcess> => {
  const child = fork(fileURLToPath(new URL("./fixtures/holder.mjs", import.meta.url)), [file, how], { execArgv: [] });
  const [first] = await Promise.race([once(child, "message"), once(child, "exit")]);
  if (first !== "held") throw new Error(`The holder ended before it held anything: ${String(first)}`);
  return child;
};

describe.each(["consume", "pipeline"])("a process with %s that is killed", (how) => {
  test("loses its leases to others when they have run out, and keeps what it had acked", async () => {
    const file = sqliteFile();
    const rheo = await Rheo.open({ backend: sqlite({ file, driver: "libsql" }) });
    await rheo.createStream("orders");
    await rheo.createGroup("orders", "g");
    await fill(rheo, numbers(8));
    const holder = await startHolder(file, how);
    await until("its ack has arrived", async () => (await lagOf(rheo)) === 7);
    expect((await sequencesOf(rheo)).length).toBeGreaterThanOrEqual(3);
    const ended = once(holder, "exit");
    process.kill(Number(holder.pid), "SIGKILL");
    await ended;
    const seen: number[] = [];
    for await (const lease of consume(rheo, "orders", "g", { pollMs: 20 })) {
      seen.push(lease.sequence);
      await lease.ack();
      if ((await lagOf(rheo)) === 0) break;
    }
    expect(seen.toSorted((a, b) => a - b)).toEqual(numbers(7, 2));
    await rheo.close();
    for (const end of ["", "-wal", "-shm"]) await rm(`${file}${end}`, { force: true });
  });
});
