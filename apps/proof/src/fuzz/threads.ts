/** The door "threads": handlers that post what they like to the main side and to every channel they can find. The group goes on. */
import { setTimeout as sleep } from "node:timers/promises";
import { Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { supervise } from "@rheo/runtime";
import { Counts } from "./counts.ts";
import type { Door } from "./door.ts";

/** In ms of real time; threads take their time to come up. */
const PATIENCE_MS = 15_000;
const LOOK_MS = 10;
const EVENTS_EACH = 4;

export const threads: Door = {
  name: "threads",
  knock: async (seed, cases) => {
    const counts = new Counts();
    await using rheo = await Rheo.open({ backend: memory() });
    await rheo.createStream("orders");
    await rheo.createGroup("orders", "billing", { maxAttempts: 50, retry: { minMs: 0, maxMs: 0 } });
    await rheo.appendMany(
      "orders",
      Array.from({ length: cases * EVENTS_EACH }, (_, index) => ({ payload: { seed: seed * 1_000 + index } })),
    );
    const faults: string[] = [];
    const failed = ({ error }: { readonly error: Error }): void => void faults.push(`a child failed: ${error.message}`);
    rheo.events.on("child.failed", failed);
    await using supervisor = await supervise({
      rheo,
      threads: 2,
      consumers: [{ stream: "orders", group: "billing", handler: new URL("./junk.handler.js", import.meta.url), pollMs: 5 }],
      logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      stopTimeoutMs: 1_000,
    });
    let left = -1;
    for (let waited = 0; waited < PATIENCE_MS && left !== 0; waited += LOOK_MS) {
      await sleep(LOOK_MS);
      ({ lag: left } = await rheo.lag("orders", "billing"));
    }
    for (let index = 0; index < cases; index++) counts.add({ kind: "value", value: left });
    const dead = await rheo.deadLetters("orders", "billing");
    if (left !== 0) faults.push(`seed ${seed}: the group does not go on (lag ${left}, ${supervisor.state})`);
    if (supervisor.state === "failed") faults.push(`seed ${seed}: the group was given up`);
    for (const { sequence, reason } of dead.slice(0, 3)) faults.push(`seed ${seed}: ${sequence} is dead: ${reason}`);
    return { counts, faults };
  },
};
