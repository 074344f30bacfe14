import { RheoError } from "@rheo/core";
import type { FastifyInstance } from "fastify";

interface Refusal {
  readonly status: number;
  /** For the client: errors of the store name streams and partitions, which are none of its business. */
  readonly text: string;
}

const OURS: Refusal = { status: 500, text: "Something went wrong here." };

/** By the code of what the store refused. Codes that are not here are a fault of ours. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  id_conflict: { status: 409, text: "Another order was sent under this key." },
  event_too_large: { status: 413, text: "The order is too large." },
  unavailable: { status: 503, text: "The order was not kept. Send it again later." },
  outcome_unknown: { status: 503, text: "The order may have been kept. Send it again later under the same idempotency-key." },
};

export const tellRefusals = (server: FastifyInstance): void => {
  server.setErrorHandler((error, request, reply) => {
    const { status, text } = RheoError.is(error) ? (REFUSALS[error.code] ?? OURS) : refusalOf(error);
    if (status >= 500) request.log.error(error);
    if (status === 503) reply.header("retry-after", "1");
    return reply.code(status).send({ error: text });
  });
};

/** Fastify's own errors know their status, such as 400 for a body that does not match. */
const refusalOf = (error: unknown): Refusal => {
  const status: unknown = Reflect.get(Object(error), "statusCode");
  if (typeof status !== "number" || status < 400 || status > 499 || !(error instanceof Error)) return OURS;
  return { status, text: error.message };
};
