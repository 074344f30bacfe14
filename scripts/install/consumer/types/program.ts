/** What a user's program says to each package, under the strictest options. */
import {
  type Backend,
  defineStream,
  type Event,
  FrozenClock,
  type Lease,
  Rheo,
  RheoError,
  type StandardSchema,
} from "@rheo/core";
import { createDashboard, type Dashboard } from "@rheo/dashboard";
import { lmdb } from "@rheo/lmdb";
import { memory } from "@rheo/memory";
import { mongo } from "@rheo/mongo";
import { consume, pipeline } from "@rheo/pipeline";
import { postgres } from "@rheo/postgres";
import { redis } from "@rheo/redis";
import { type ConsumerDefinition, defineConsumer, type Supervisor, supervise } from "@rheo/runtime";
import { ack, handler, retry } from "@rheo/runtime/handler";
import { sqlite } from "@rheo/sqlite";
import { instrument } from "@rheo/telemetry";
import { logEvents } from "@rheo/telemetry/log";
import { prometheus } from "@rheo/telemetry/prometheus";
import { describeBackend } from "@rheo/testing";
import { Pool } from "pg";
import { Registry } from "prom-client";
import * as all from "rheo";

export const backends: Backend[] = [
  memory(),
  sqlite({ file: "events.db" }),
  lmdb({ path: "events" }),
  postgres({ pool: new Pool() }),
  redis({ url: "redis://127.0.0.1" }),
  mongo({ url: "mongodb://127.0.0.1/x" }),
];

interface Price {
  readonly currency: string;
  readonly price: number;
}

const schema: StandardSchema<Price, Price> = {
  "~standard": { version: 1, vendor: "consumer", validate: (value: unknown) => ({ value: value as Price }) },
};
export const prices = defineStream({ name: "prices", partitions: 2, schema });

export const byHand = async (): Promise<number> => {
  const rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
  const event: Event<Price> = await rheo.append(prices, { key: "EUR-6M", payload: { currency: "EUR", price: 2.9 } });
  const leases: Lease<Price>[] = await rheo.fetch(prices, "risk");
  try {
    for (const lease of leases) await rheo.ack(lease);
  } catch (error) {
    if (!RheoError.is(error, "stale_lease")) throw error;
  }
  // @ts-expect-error - no price is text
  await rheo.append(prices, { payload: { currency: "EUR", price: "2.9" } });
  return event.payload.price;
};

export const supervised = async (rheo: Rheo): Promise<Dashboard> => {
  const consumer: ConsumerDefinition = defineConsumer({
    stream: prices,
    group: "risk",
    handler: handler<Price>(({ payload }) => (payload.price > 0 ? ack() : retry("no price yet")), { stream: prices }),
    execution: "inline",
  });
  const app: Supervisor = await supervise({ rheo, consumers: [consumer] });
  instrument({ rheo }).watch(app);
  prometheus({ rheo, registry: new Registry() });
  logEvents({ rheo, logger: { ...console, trace: console.debug } });
  for await (const lease of consume(rheo, prices, "risk")) await lease.ack();
  pipeline({ rheo, stream: prices, group: "risk", processors: { handle: () => undefined } });
  return createDashboard({ rheo, app });
};

export const contract: typeof describeBackend = describeBackend;
export const open = (store: string): Promise<Rheo> => all.Rheo.open(store);
