/** Somebody who looks on at a config that runs. */
import { type Rheo, RheoError } from "@rheo/core";
import { defineConfig, type Observer, type Supervisor } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { App } from "@rheo/runtime/internal";
import { expect, test, vi } from "vitest";
import { deferred } from "../src/deferred.ts";
import { openOrders } from "./store.ts";

const quiet = { opened: (): void => undefined, waiting: (): void => undefined };

const runWith = async (observe: (rheo: Rheo) => Observer | undefined): Promise<{ handled: number; isReady: boolean }> => {
  let handled = 0;
  const done = deferred();
  const work = handler(() => {
    handled += 1;
    if (handled === 3) done.resolve();
  });
  const config = defineConfig({
    store: () => openOrders({ payloads: [1, 2, 3] }),
    consumers: [{ stream: "orders", group: "g", createGroup: {}, handler: work }],
    observe,
  });
  const ready = deferred();
  const host = { ...quiet, ready: () => ready.resolve() };
  const app = new App({ config, store: null, fallbackStore: null, isShared: false, host });
  await app.start();
  await Promise.all([ready.promise, done.promise]);
  await app.end(1_000);
  return { handled, isReady: true };
};

test("is told of the store before anything is consumed, then of the consumers, and of the end while the store is open", async () => {
  const told: string[] = [];
  let settled = 0;
  await runWith((rheo) => {
    rheo.events.on("lease.granted", ({ count }) => (settled += count));
    told.push("opened");
    return {
      watch: (app: Supervisor) =>
        void told.push(
          app
            .children()
            .map(({ id }) => id)
            .join(),
        ),
      close: async () => {
        await rheo.ping();
        told.push("closed");
      },
    };
  });
  expect([told, settled]).toEqual([["opened", "orders/g", "closed"], 3]);
});

test.each<[string, (rheo: Rheo) => Observer | undefined]>([
  [
    "at once",
    () => {
      throw new Error("no port");
    },
  ],
  [
    "later",
    () => ({
      watch: () => {
        throw new Error("no port");
      },
      close: () => Promise.reject(new Error("no port")),
    }),
  ],
])("that fails %s is reported, and disturbs nothing", async (_, observe) => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  expect(await runWith(observe)).toEqual({ handled: 3, isReady: true });
  expect(warn).toHaveBeenCalledWith(expect.stringContaining("no port"), "RheoWarning");
  warn.mockRestore();
});

test("is a function", () => {
  const wrong = { consumers: [{ stream: "s", group: "g", handler: "./h.mjs" }], observe: {} as never };
  expect(() => defineConfig(wrong)).toThrow(RheoError);
});
