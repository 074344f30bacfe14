import { RheoError } from "@rheo/core";
import type { HeldLease } from "@rheo/pipeline";
import type pg from "pg";
import type { Order } from "./orders.ts";
import { inTransaction, type Shop } from "./shop.ts";

/**
 * Writes the invoice of one order and acks its delivery in the same transaction. A worker that is killed at any point has done both or
 * neither; one that is late and whose delivery is another's by now is refused by the ack, and its invoice is rolled back with it.
 */
export const bill = async ({ pool }: Shop, lease: HeldLease<Order>): Promise<void> => {
  try {
    await inTransaction(pool, async (client) => {
      const { country, id, netCents } = lease.event.payload;
      const percent = await vatOf(client, country);
      if (percent === null) {
        await lease.reject({ reason: `no VAT rate for ${country}`, transaction: client });
        return;
      }
      const gross = netCents + Math.round((netCents * percent) / 100);
      await client.query("INSERT INTO shop.invoices (number, order_id, gross_cents) VALUES ($1, $2, $3)", [
        await nextNumber(client),
        id,
        gross,
      ]);
      await lease.ack({ transaction: client }); // last: a transaction that has acked should end soon
    });
  } catch (error) {
    await giveBack(lease, error);
  }
};

const vatOf = async (client: pg.PoolClient, country: string): Promise<number | null> => {
  const { rows } = await client.query<{ percent: number }>("SELECT percent FROM shop.vat_rates WHERE country = $1", [country]);
  return rows[0]?.percent ?? null;
};

/** Without gaps, as tax offices want it: what is rolled back gives its number back. Billing workers wait for one another here. */
const nextNumber = async (client: pg.PoolClient): Promise<string> => {
  const { rows } = await client.query<{ last: string }>("UPDATE shop.invoice_numbers SET last = last + 1 RETURNING last");
  if (rows[0] === undefined) throw new Error("shop.invoice_numbers is empty");
  return rows[0].last;
};

/** To be tried again, unless it is another's already, or was committed though the answer was lost. */
const giveBack = async (lease: HeldLease<Order>, error: unknown): Promise<void> => {
  if (RheoError.is(error, "stale_lease")) return;
  console.error(`order ${lease.event.id} is to be billed again: ${String(error)}`);
  try {
    await lease.nack({ reason: error instanceof Error ? error : String(error) });
  } catch (late) {
    if (!RheoError.is(late, "stale_lease")) throw late;
  }
};
