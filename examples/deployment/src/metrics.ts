import { createServer } from "node:http";
import type { Rheo } from "@rheo/core";
import type { Observer } from "@rheo/runtime";
import { prometheus } from "@rheo/telemetry/prometheus";

/** Metrics of each process on a port of its own: METRICS_PORT, the next one, and so on. None without METRICS_PORT. */
export const serveMetrics = (rheo: Rheo): Observer | undefined => {
  const { METRICS_PORT, METRICS_HOST = "127.0.0.1", RHEO_PROCESS = "1" } = process.env;
  if (METRICS_PORT === undefined || METRICS_PORT === "") return undefined;
  const metrics = prometheus({ rheo });
  const server = createServer((_, response) => {
    metrics.text().then(
      (text) => response.setHeader("content-type", metrics.registry.contentType).end(text),
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    );
  });
  server.on("error", (error) => console.error(`metrics cannot be served: ${error.message}`));
  server.listen(Number(METRICS_PORT) + Number(RHEO_PROCESS) - 1, METRICS_HOST);
  return {
    watch: metrics.watch,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await metrics.close();
    },
  };
};
