/** Shows the built site, on this machine alone. */
import type { AddressInfo } from "node:net";
import { preview } from "vite";
import { HOME, SITE } from "./places.ts";

const HOST = "127.0.0.1";

export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/** @param port - 0: any that is free */
export const serveSite = async (port: number): Promise<Served> => {
  const server = await preview({
    root: HOME,
    configFile: false,
    logLevel: "warn",
    appType: "mpa",
    build: { outDir: SITE },
    preview: { host: HOST, port, strictPort: port !== 0 },
  });
  const { port: actual } = server.httpServer.address() as AddressInfo; // it listens on TCP
  return { url: `http://${HOST}:${actual}`, close: () => server.close() };
};
