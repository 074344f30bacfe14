import { Rheo } from "@rheo/core";
import { createDashboard } from "@rheo/dashboard";
import { supervise } from "@rheo/runtime";
import { prometheus } from "@rheo/telemetry/prometheus";
import Fastify, { type FastifyInstance } from "fastify";
import { addOperations } from "./operations.ts";
import { orders } from "./orders.ts";
import { tellRefusals } from "./refusals.ts";
import { addRoutes } from "./routes.ts";

export interface ServerOptions {
  /** Such as `sqlite:./orders.db`. */
  readonly store: string;
  readonly threads: number;
  /** Who looks at the dashboard must give it; without one, only this machine may look. */
  readonly dashboardToken: string | undefined;
  /** How long handlers may finish when it ends, in ms. */
  readonly drainMs: number;
}

/** The server with its consumers: closing it ends both, in this order: requests, handlers, the store. */
export const openServer = async ({ store, threads, dashboardToken: token, drainMs }: ServerOptions): Promise<FastifyInstance> => {
  const rheo = await Rheo.open(store);
  const metrics = prometheus({ rheo }); // before anything happens that it should count
  await rheo.ensureStream(orders);
  const app = await supervise({
    rheo,
    threads,
    stopTimeoutMs: drainMs,
    consumers: [
      {
        stream: orders,
        group: "receipts",
        handler: new URL("./receipts.handler.ts", import.meta.url),
        timeoutMs: 30_000,
        createGroup: { maxAttempts: 5, ordering: "key" },
      },
    ],
  });
  metrics.watch(app);
  const dashboard = createDashboard({ rheo, app, basePath: "/rheo", ...(token === undefined ? {} : { token }) });

  const server = Fastify({ logger: { level: "info" }, bodyLimit: 65_536, routerOptions: { maxParamLength: 100 } });
  tellRefusals(server);
  addRoutes(server, rheo);
  addOperations(server, { rheo, app, metrics, dashboard });
  server.addHook("preClose", () => dashboard.close()); // its pages watch, and would keep the server open
  server.addHook("onClose", async () => {
    await app.stop(); // drains: what runs may finish, the rest is given back for others
    await metrics.close();
    await rheo.close();
  });
  void app.failure.then(async (error) => {
    server.log.fatal(error, "a consumer was given up");
    process.exitCode = 1;
    await server.close();
  });
  return server;
};
