import type { Rheo } from "@rheo/core";
import type { FastifyInstance } from "fastify";
import { type Order, orderSchema, orders } from "./orders.ts";

const ID = { type: "string", pattern: "^[A-Za-z0-9._-]{1,100}$" } as const;

/** Orders in, and where each of them stands. */
export const addRoutes = (server: FastifyInstance, rheo: Rheo): void => {
  // 202: it is kept, and will be worked on. Who had no answer sends it again under the same key, and it is kept once
  server.post<{ Body: Order; Headers: { "idempotency-key"?: string } }>(
    "/orders",
    { schema: { body: orderSchema, headers: { type: "object", properties: { "idempotency-key": ID } } } },
    async ({ body, headers }, reply) => {
      const id = headers["idempotency-key"];
      const event = await rheo.append(orders, {
        type: "placed",
        key: body.customer,
        payload: body,
        ...(id === undefined ? {} : { id }),
      });
      return reply.code(202).header("location", `/orders/${event.id}`).send({ id: event.id });
    },
  );

  server.get<{ Params: { id: string } }>(
    "/orders/:id",
    { schema: { params: { type: "object", properties: { id: ID } } } },
    async ({ params }, reply) => {
      const history = await rheo.eventHistory(orders, params.id);
      if (history === null) return reply.code(404).send({ error: "There is no such order." });
      const groups = history.groups.map(({ group, state, lastError }) => ({ group, state, lastError }));
      return { id: params.id, order: history.event.payload, groups };
    },
  );
};
