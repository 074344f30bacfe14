/** The command line on a store that one process owns: it looks while nobody has it open, and else says who has. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { afterAll, expect, test } from "vitest";
import { run, values } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "rheo-cli-lmdb-"));
const url = `lmdb:${join(folder, "events")}`;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const here = { store: url };

test("it looks at a store that nobody has open, and names the owner of one that somebody has", async () => {
  const rheo = await Rheo.open(url);
  await rheo.createStream("orders");
  await rheo.append("orders", { id: "o1", payload: 1 });
  const refused = await run("streams --json", here);
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain(String(process.pid));
  await rheo.close();
  const { code, out } = await run("streams --json", here);
  expect([code, values(out)]).toMatchObject([0, [{ name: "orders" }]]);
});
