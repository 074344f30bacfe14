import { ack } from "@rheo/core";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { breathe } from "../session/breathe.ts";
import { type Bench, type Measure, timed } from "./measure.ts";

const AT_ONCE = 64;
const BATCH = 100;
/** Steps that each wait for the one before: more would only take longer. */
const MAX_SINGLE = 500;
const PINGS = 100;
/** A handler that has not begun by then never will, in ms. */
const PING_MS = 30_000;

const content = ({ payload }: Bench, n: number): { readonly key: string; readonly payload: string } => ({
  key: `key-${n % 997}`,
  payload,
});

const appendSingly: Measure = {
  name: "append, one at a time",
  events: (asked) => Math.min(asked, MAX_SINGLE),
  run: async (bench) => {
    const steps: number[] = [];
    for (let n = 0; n < bench.events && !bench.signal.aborted; n++) {
      steps.push(await timed(() => bench.rheo.append(bench.stream, content(bench, n))));
      bench.reached(n + 1);
      await breathe();
    }
    return steps;
  },
};

const appendAtOnce: Measure = {
  name: `append, ${AT_ONCE} at once`,
  events: (asked) => asked,
  run: async (bench) => {
    const steps: number[] = [];
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < bench.events && !bench.signal.aborted) {
        const n = next++;
        steps.push(await timed(() => bench.rheo.append(bench.stream, content(bench, n))));
        bench.reached(steps.length);
        await breathe();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return steps;
  },
};

const appendInBatches: Measure = {
  name: `append, batches of ${BATCH}`,
  events: (asked) => Math.ceil(asked / BATCH) * BATCH,
  run: async (bench) => {
    const steps: number[] = [];
    for (let done = 0; done < bench.events && !bench.signal.aborted; done += BATCH) {
      const batch = Array.from({ length: BATCH }, (_, n) => content(bench, done + n));
      steps.push(await timed(() => bench.rheo.appendMany(bench.stream, batch)));
      bench.reached(done + BATCH);
      await breathe();
    }
    return steps;
  },
};

const fetchAndSettle: Measure = {
  name: `fetch and settle, ${BATCH} at a time`,
  events: (asked) => asked,
  run: async (bench) => {
    const { rheo, stream, events, signal } = bench;
    await rheo.createGroup(stream, "drain");
    const steps: number[] = [];
    for (let done = 0; done < events && !signal.aborted; ) {
      const startedAtMs = performance.now();
      const leases = await rheo.fetch(stream, "drain", { limit: Math.min(BATCH, events - done) });
      await rheo.settle(leases.map((lease) => ({ lease, outcome: ack() })));
      steps.push(performance.now() - startedAtMs);
      done += leases.length;
      bench.reached(done);
      await breathe();
    }
    return steps;
  },
};

/** From the call of append to the start of a handler, one event after the other. */
const appendToHandler: Measure = {
  name: "append → handler",
  events: (asked) => Math.min(asked, PINGS),
  run: async (bench) => {
    const { rheo, stream, events, signal } = bench;
    let begun = (): void => undefined;
    const consumer = defineConsumer({
      stream,
      group: "ping",
      handler: handler(() => begun()),
      execution: "inline",
      createGroup: { start: "latest" },
    });
    const app = await supervise({ rheo, consumers: [consumer] });
    const steps: number[] = [];
    try {
      for (let n = 0; n < events && !signal.aborted; n++) {
        const arrived = new Promise<void>((resolve) => {
          begun = resolve;
        });
        const appendedAtMs = performance.now();
        await rheo.append(stream, content(bench, n));
        await Promise.race([arrived, aborted(AbortSignal.any([signal, AbortSignal.timeout(PING_MS)]))]);
        steps.push(performance.now() - appendedAtMs);
        bench.reached(n + 1);
      }
    } finally {
      await app.stop();
    }
    return steps;
  },
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

/** In this order: what is appended by the first ones is consumed by the fourth. */
export const measures: readonly Measure[] = [appendSingly, appendAtOnce, appendInBatches, fetchAndSettle, appendToHandler];
