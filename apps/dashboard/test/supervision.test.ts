import { Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { expect, onTestFinished, test } from "vitest";
import { dashboardOf, view } from "./fixtures/ask.ts";

interface Node {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly details: readonly (readonly [string, string])[];
}

test("a supervisor's consumers are seen in the tree, and on the page of their group", async () => {
  const rheo = await Rheo.open({ backend: memory() });
  const consumer = (group: string) =>
    defineConsumer({ stream: "orders", group, execution: "inline", handler: handler(() => undefined), createGroup: {} });
  await rheo.createStream("orders");
  const app = await supervise({ rheo, consumers: [consumer("billing"), consumer("mail")] });
  const dashboard = dashboardOf({ rheo, app });
  onTestFinished(() => app.stop());
  const { state, children } = await view<{ state: string; children: Node[] }>(dashboard, "tree");
  expect([state, children.map(({ id, kind }) => [id, kind])]).toEqual([
    "running",
    [
      ["orders/billing", "group"],
      ["orders/mail", "group"],
    ],
  ]);
  const { consumers } = await view<{ consumers: Node[] }>(dashboard, "group?stream=orders&group=mail");
  expect(consumers.map(({ id }) => id)).toEqual(["orders/mail"]);
  expect(Object.fromEntries(consumers[0]?.details ?? [])).toMatchObject({ healthy: "true", inflight: "0" });
});
