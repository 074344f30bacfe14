import { setTimeout as sleep } from "node:timers/promises";
import type { Rheo } from "@rheo/core";
import type { Dashboard } from "@rheo/dashboard";
import type { Supervisor } from "@rheo/runtime";
import type { PrometheusMetrics } from "@rheo/telemetry/prometheus";
import type { FastifyInstance } from "fastify";

/** A store that has not answered by then counts as away. */
const PING_MS = 2_000;
const UP = (): string => "up";
const AWAY = (): string => "away";

export interface Operated {
  readonly rheo: Rheo;
  readonly app: Supervisor;
  readonly metrics: PrometheusMetrics;
  readonly dashboard: Dashboard;
}

/** What those ask for who keep it running: health, metrics, the dashboard. */
export const addOperations = (server: FastifyInstance, { rheo, app, metrics, dashboard }: Operated): void => {
  // whether to send requests here: not while the store is away, nor while it ends. It does not ask for a restart
  server.get("/health/ready", { logLevel: "warn" }, async (_, reply) => {
    const consumers = app.children().map(({ id, state, restarts }) => ({ id, state, restarts }));
    const isConsuming = consumers.every(({ state }) => state === "running");
    const store = await Promise.race([rheo.ping().then(UP, AWAY), sleep(PING_MS, "away", { ref: false })]);
    return reply.code(isConsuming && store === "up" ? 200 : 503).send({ store, consumers });
  });

  // whether to restart it: not because the store is away
  server.get("/health/live", { logLevel: "warn" }, () => ({ state: app.state }));

  server.get("/metrics", { logLevel: "warn" }, async (_, reply) =>
    reply.header("content-type", metrics.registry.contentType).send(await metrics.text()),
  );

  for (const path of ["/rheo", "/rheo/*"]) {
    server.get(path, { logLevel: "warn" }, (request, reply) => {
      reply.hijack();
      dashboard.node(request.raw, reply.raw);
    });
  }
};
