/** `rheo demo`, which is the package `@rheo/demo` by another name. */
import { expect, test } from "vitest";
import { RheoCommand } from "./rheo-command.ts";

test("kills a consumer before its ack, and says that all was as expected", async () => {
  await using demo = new RheoCommand(["demo", "--json", "--kill-at", "in-handler"]);
  expect([await demo.code, demo.stderr]).toEqual([0, ""]);
  expect(JSON.parse(demo.stdout)).toMatchObject({
    ok: true,
    stories: [
      {
        killAt: "in-handler",
        outcome: { ackLanded: false, redelivery: { attempt: 2 }, lateAck: { code: "stale_lease" }, lag: 0 },
      },
      {},
    ],
  });
});

test("has the options and the exit codes of the package", async () => {
  await using wrong = new RheoCommand(["demo", "--kill-at", "nowhere"]);
  expect([await wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("Allowed choices")]);
  await using help = new RheoCommand(["demo", "--help"]);
  expect([await help.code, help.stdout]).toEqual([0, expect.stringContaining("Kill points")]);
});
