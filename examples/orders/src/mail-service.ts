import Fastify, { type FastifyInstance } from "fastify";
import type pg from "pg";
import { z } from "zod";

const headers = z.object({ "idempotency-key": z.string().max(200), "fencing-token": z.coerce.number().int().positive() });
const body = z.object({ recipient: z.email().max(200) });

/** One statement, so that it holds against requests at the same moment: a row is a mail that was sent. */
const SEND = `
  INSERT INTO shop.mails (idempotency_key, fencing_token, recipient) VALUES ($1, $2, $3)
  ON CONFLICT (idempotency_key) DO UPDATE SET fencing_token = excluded.fencing_token, asked = mails.asked + 1
    WHERE excluded.fencing_token >= mails.fencing_token
  RETURNING asked`;

/**
 * Stands for the mail provider, which knows nothing of Rheo: it sends one mail for each idempotency key, and refuses whoever comes with a
 * lower fencing token than another did before.
 */
export const mailService = (pool: pg.Pool): FastifyInstance => {
  const service = Fastify();
  service.post("/mails", async (request, reply) => {
    const asked = headers.safeParse(request.headers);
    const mail = body.safeParse(request.body);
    if (!asked.success || !mail.success) return reply.code(422).send({ error: "not a mail" });
    const { "idempotency-key": key, "fencing-token": token } = asked.data;
    const { rows } = await pool.query<{ asked: number }>(SEND, [key, token, mail.data.recipient]);
    if (rows[0] === undefined) return reply.code(409).send({ error: "a later attempt was here before" });
    return reply.code(rows[0].asked === 1 ? 201 : 200).send({ sent: true });
  });
  return service;
};
