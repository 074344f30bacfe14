import { instrument, publisher } from "@rheo/telemetry";
import { logEvents } from "@rheo/telemetry/log";
import { prometheus } from "@rheo/telemetry/prometheus";
import { pino } from "pino";
import { expect, test } from "vitest";
import { openOrders } from "./fixtures/stores.ts";

const WRONG = [
  { gaugesEvery: 5 },
  { gaugesEveryMs: 99 },
  { maxGroups: 0 },
  { maxGroups: 10_001 },
  { times: "yes" },
  { groups: "some" },
  { groups: [{ stream: "orders" }] },
  { groups: [{ stream: "orders", group: "../etc" }] },
  { groups: [{ stream: "orders", group: "g", partition: 1 }] },
];
const refused = expect.objectContaining({ code: expect.stringMatching(/^invalid_(option|name)$/) });

test("wrong and unknown options are refused, and nothing is listened to then", async () => {
  await using rheo = await openOrders();
  for (const wrong of WRONG) {
    expect(() => prometheus({ rheo, ...wrong } as never), JSON.stringify(wrong)).toThrow(refused);
    expect(() => instrument({ rheo, ...wrong } as never), JSON.stringify(wrong)).toThrow(refused);
  }
  expect(() => prometheus({ rheo, registry: {} } as never)).toThrow(refused);
  expect(() => instrument({ rheo, meterProvider: {} } as never)).toThrow(refused);
  expect(() => instrument({ rheo, tracerProvider: "global" } as never)).toThrow(refused);
  expect(() => publisher(rheo, { tracer: 1 } as never)).toThrow(refused);
  expect(() => publisher({} as never)).toThrow(refused);
  expect(() => logEvents({ rheo, logger: {} } as never)).toThrow(refused);
  expect(() => logEvents({ rheo, logger: pino({ level: "silent" }), levels: { "lease.lots": "warn" } } as never)).toThrow(
    refused,
  );
  expect(() => logEvents({ rheo, logger: pino({ level: "silent" }), levels: { "lease.lost": "loud" } } as never)).toThrow(
    refused,
  );
  for (const rheoless of [{}, { rheo: null }, { rheo: {} }]) expect(() => prometheus(rheoless as never)).toThrow(refused);
  expect(rheo.events.listenerCount("event.appended")).toBe(0);
});
