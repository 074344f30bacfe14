import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { UsageError } from "../place.ts";

export interface Served extends AsyncDisposable {
  readonly url: string;
}

const HOST = "127.0.0.1";

/** Serves an app on the loopback. @throws UsageError - the port cannot be had */
export const serve = async (app: Hono, port: number): Promise<Served> => {
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((incoming, outgoing) => {
    listener(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new UsageError(`The playground cannot listen at ${HOST}, port ${port}: ${error.message}. Choose another with --port.`),
      ),
    );
    server.listen(port, HOST, resolve);
  });
  const { port: served } = server.address() as AddressInfo; // it listens on TCP
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections(); // streams that go on would keep it from closing
    await closed;
  };
  return { url: `http://${HOST}:${served}/`, [Symbol.asyncDispose]: close };
};
