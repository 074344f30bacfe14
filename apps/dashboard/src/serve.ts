import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { RheoError } from "@rheo/core";
import { parseNumber, parseOptions, parseText } from "@rheo/core/internal";
import { createDashboard } from "./dashboard.ts";
import { isAuthority, isLoopback } from "./http/hosts.ts";
import { DASHBOARD_NAMES, type DashboardOptions } from "./options.ts";

/** Options of a dashboard with a server of its own. */
export interface ServeDashboardOptions extends DashboardOptions {
  /** 1–65,535, or 0 for a free one; default 8321. */
  readonly port?: number;
  /** The name or address to listen at; default "127.0.0.1". One that is not the loopback's needs `token` or `authorize`. */
  readonly host?: string;
}

/** A dashboard that is being served. */
export interface ServedDashboard extends AsyncDisposable {
  /** Where it is, with its base path. */
  readonly url: string;
  /** Stops serving. Leaves `rheo` open. Idempotent. */
  close(): Promise<void>;
}

/**
 * Serves the dashboard on a port of its own.
 * @throws invalid_option - also: a host that is not the loopback's, without token and authorize
 * @throws unavailable - the port is taken, or may not be listened at
 */
export const serveDashboard = async (options: ServeDashboardOptions): Promise<ServedDashboard> => {
  const {
    port: givenPort,
    host: givenHost,
    ...raw
  } = parseOptions("serveDashboard", options, [...DASHBOARD_NAMES, "port", "host"]);
  const port = parseNumber("port", givenPort, { min: 0, max: 65_535, fallback: 8_321 });
  const host = parseText("host", givenHost) ?? "127.0.0.1";
  const given = raw as unknown as DashboardOptions; // what it is, createDashboard checks
  const isOpen = given.token === undefined && given.authorize === undefined;
  if (isOpen && !isLoopback(host.toLowerCase())) throw refusedHost(host);
  const dashboard = createDashboard(isOpen || !isAuthority(host) ? given : { ...given, hosts: [...(given.hosts ?? []), host] });
  const server = createServer(dashboard.node);
  await listen(server, host, port);
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= end(server, () => dashboard.close());
    return closing;
  };
  const { port: served } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://${shownHost(host)}:${served}${given.basePath?.replace(/\/?$/, "/") ?? "/"}`,
    close,
    [Symbol.asyncDispose]: close,
  };
};

const refusedHost = (host: string): RheoError =>
  new RheoError(
    "invalid_option",
    `host ${JSON.stringify(host)} can be reached by others, who would see every payload. Give a token or authorize, or leave host out.`,
    { path: "host" },
  );

/** An address that stands for all of a machine's is nowhere to go to. */
const shownHost = (host: string): string => {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
};

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", (cause) => reject(notListening(host, port, cause)));
    server.listen(port, host, resolve);
  });

const notListening = (host: string, port: number, cause: Error): RheoError =>
  new RheoError(
    "unavailable",
    `The dashboard cannot listen at ${host}, port ${port}: ${cause.message}. Choose another port.`,
    {},
    { cause },
  );

/** Streams that go on would keep the server from closing. */
const end = async (server: Server, closeDashboard: () => Promise<void>): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve));
  await closeDashboard();
  server.closeAllConnections();
  await closed;
};
