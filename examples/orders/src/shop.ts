import { Rheo } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import pg from "pg";
import { orders } from "./orders.ts";
import { TABLES } from "./tables.ts";

/** The database of the shop, and the events in it. */
export interface Shop extends AsyncDisposable {
  readonly pool: pg.Pool;
  readonly rheo: Rheo;
}

/** Any number, so that processes that start at once make the tables one after the other. */
const TABLES_LOCK = 7_426_001;

/** Opens the shop, and makes what is not there yet: tables, stream, groups. */
export const openShop = async (url: string): Promise<Shop> => {
  const pool = new pg.Pool({ connectionString: url });
  let isClosing = false;
  pool.on("error", (error) => {
    // without a listener it would end the process
    if (!isClosing) console.error(`An idle connection was lost: ${error.message}`);
  });
  await inTransaction(pool, async (client) => {
    await client.query("SELECT pg_advisory_xact_lock($1)", [TABLES_LOCK]);
    await client.query(TABLES);
  });
  const rheo = await Rheo.open({ backend: postgres({ pool }) });
  await rheo.ensureStream(orders);
  // a killed worker's leases are taken over after two seconds; each kill costs what the worker held an attempt
  for (const group of ["billing", "mailing"]) await rheo.ensureGroup(orders, group, { leaseMs: 2_000, maxAttempts: 20 });
  return {
    pool,
    rheo,
    [Symbol.asyncDispose]: async () => {
      isClosing = true;
      await rheo.close();
      await pool.end();
    },
  };
};

/** Runs `work` in one transaction: all of it is committed, or, when it throws, nothing. */
export const inTransaction = async <Value>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> => {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const value = await work(client);
    await client.query("COMMIT");
    client.release();
    return value;
  } catch (error) {
    client.release(true); // closes the connection, and so rolls back, whatever state it was in
    throw error;
  }
};
