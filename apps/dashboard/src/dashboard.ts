import { internalsOf } from "@rheo/core/internal";
import { createApp } from "./http/app.ts";
import { Live } from "./live/live.ts";
import { type NodeHandler, nodeHandler } from "./node.ts";
import { type DashboardOptions, parseDashboardOptions } from "./options.ts";
import { Reads } from "./reading/reads.ts";
import { Sampler } from "./sampling/sampler.ts";
import { Tails } from "./views/tails.ts";

/** A read-only web page of a store, to be mounted in a server of yours. */
export interface Dashboard extends AsyncDisposable {
  /** Answers one request. Never rejects. */
  fetch(request: Request): Promise<Response>;
  /** The same for node:http, Express and Fastify. */
  readonly node: NodeHandler;
  /** Ends the streams of all who watch, and the reads. Leaves `rheo` open. Idempotent. */
  close(): Promise<void>;
}

/**
 * The dashboard of an open store: streams, groups, dead letters, events, live. It reads only while somebody watches, once for all who do,
 * and changes nothing.
 *
 * Without `token` or `authorize` it answers on the loopback alone: whoever mounts it elsewhere must say who may see it.
 * @throws invalid_option
 */
export const createDashboard = (options: DashboardOptions): Dashboard => {
  const settings = parseDashboardOptions(options);
  const { rheo, app, token } = settings;
  const { clock } = internalsOf(rheo);
  const sampler = new Sampler(rheo, clock);
  const reads = new Reads({ rheo, app, hasToken: token !== null, clock, sampler, tails: new Tails(rheo, clock) });
  const live = new Live(clock);
  const server = createApp({ settings, clock, reads, live });
  const fetch = async (request: Request): Promise<Response> => server.fetch(request);
  const close = (): Promise<void> => {
    live.close();
    return sampler.close();
  };
  const isOpen = token === null && settings.authorize === null;
  return { fetch, node: nodeHandler(fetch, isOpen), close, [Symbol.asyncDispose]: close };
};
