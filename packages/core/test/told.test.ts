import { channel } from "node:diagnostics_channel";
import { ack, FrozenClock, Rheo, type RheoEventOf, retry } from "@rheo/core";
import { internalsOf } from "@rheo/core/internal";
import { memory } from "@rheo/memory";
import { expect, test } from "vitest";

const EACH = ["delivery.leased", "delivery.settled"] as const;

test("deliveries are told one by one, with what they waited and the trace that they carry", async () => {
  const clock = new FrozenClock();
  await using rheo = await Rheo.open({ backend: memory(), clock });
  const leased: RheoEventOf<"delivery.leased">[] = [];
  const settled: RheoEventOf<"delivery.settled">[] = [];
  rheo.events.on("delivery.leased", (event) => leased.push(event));
  rheo.events.on("delivery.settled", (event) => settled.push(event));
  await rheo.createStream("orders");
  await rheo.createGroup("orders", "g");
  await rheo.append("orders", { payload: 1, metadata: { traceparent: "00-a-b-01" } });
  clock.advance(250);
  await rheo.append("orders", { payload: 2, metadata: { note: 'no "traceparent"' }, timestamp: new Date(clock.now() + 5_000) });
  const leases = await rheo.fetch("orders", "g", { consumerId: "a" });
  const grant = { partition: 0, token: 1, attempt: 1, sequences: [1, 2], waitedMs: [250, 0], traceparents: ["00-a-b-01", null] };
  expect(leased).toMatchObject([{ stream: "orders", group: "g", consumerId: "a", grants: [grant] }]);
  const outcomes = [ack(), retry("later")];
  await rheo.settle(leases.map((lease, at) => ({ lease, outcome: outcomes[at] ?? ack() })));
  await rheo.settle(leases.slice(0, 1).map((lease) => ({ lease, outcome: ack() })));
  expect(settled.flatMap((event) => event.settled.map(({ sequences, states }) => [sequences, states]))).toEqual([
    [[1], ["acked"]],
    [[2], ["retrying"]],
    [[1], ["stale"]],
  ]);
});

test("somebody listens when a listener or a subscriber of the channel is there", async () => {
  await using rheo = await Rheo.open({ backend: memory() });
  const { hears } = internalsOf(rheo);
  const listener = (): void => undefined;
  for (const type of EACH) {
    expect(hears(type)).toBe(false);
    rheo.events.on(type, listener);
    expect(hears(type)).toBe(true);
    rheo.events.off(type, listener);
    channel(`rheo:${type}`).subscribe(listener);
    expect(hears(type)).toBe(true);
    channel(`rheo:${type}`).unsubscribe(listener);
    expect(hears(type)).toBe(false);
  }
});
