import { type Order, orders } from "./orders.ts";
import { inTransaction, type Shop } from "./shop.ts";

/**
 * Places an order: the row and its event are committed together, or neither is (an outbox without a relay). Sent twice under one id, it
 * is placed once.
 * @returns false when there is an order of this id already
 */
export const placeOrder = ({ pool, rheo }: Shop, order: Order): Promise<boolean> =>
  inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      "INSERT INTO shop.orders (id, customer, country, net_cents) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
      [order.id, order.customer, order.country, order.netCents],
    );
    if (rowCount === 0) return false;
    await rheo.append(orders, { id: order.id, type: "placed", key: order.customer, payload: order }, { transaction: client });
    return true;
  });
