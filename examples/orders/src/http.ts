import Fastify, { type FastifyInstance } from "fastify";
import { orderRequest } from "./orders.ts";
import { placeOrder } from "./place-order.ts";
import type { Shop } from "./shop.ts";

/** `POST /orders`: 201 placed, 200 placed before, 400 not an order. */
export const http = (shop: Shop): FastifyInstance => {
  const server = Fastify({ bodyLimit: 16_384 });
  server.post("/orders", async (request, reply) => {
    const order = orderRequest.safeParse(request.body);
    if (!order.success)
      return reply.code(400).send({ issues: order.error.issues.map(({ path, message }) => ({ path: path.join("."), message })) });
    const isNew = await placeOrder(shop, order.data);
    return reply.code(isNew ? 201 : 200).send({ id: order.data.id });
  });
  return server;
};
