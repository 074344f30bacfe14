/** Serves until SIGTERM or Ctrl-C, then drains. */
import { openServer } from "./server.ts";

const { PORT = "3000", HOST = "127.0.0.1", RHEO_STORE = "sqlite:./orders.db", DASHBOARD_TOKEN } = process.env;

const server = await openServer({ store: RHEO_STORE, threads: 2, dashboardToken: DASHBOARD_TOKEN || undefined, drainMs: 10_000 });
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    server.log.info(`${signal}: finishing what runs`);
    void server.close();
  });
}
await server.listen({ host: HOST, port: Number(PORT) });
