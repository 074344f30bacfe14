import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";

/** Answers a request of `node:http`. */
export type NodeHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/**
 * A fetch-style handler as one of node:http. Frameworks that cut the path they mount at off `url` leave the whole in `originalUrl`.
 * @param isOpen - whether nobody has to prove who they are, so that only this machine is answered
 */
export const nodeHandler = (fetch: (request: Request) => Promise<Response>, isOpen: boolean): NodeHandler => {
  const listener = getRequestListener((request) => fetch(request), { overrideGlobalObjects: false });
  return (incoming, outgoing) => {
    if (isOpen && !isFromHere(incoming)) {
      outgoing.writeHead(403, { "content-type": "text/plain; charset=utf-8" });
      outgoing.end("Without a token or authorize, the dashboard answers this machine alone.\n");
      return;
    }
    const { originalUrl } = incoming as IncomingMessage & { readonly originalUrl?: unknown }; // Express and Connect set it
    if (typeof originalUrl === "string") incoming.url = originalUrl;
    listener(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined));
  };
};

/** A local socket has no address. */
const isFromHere = ({ socket }: IncomingMessage): boolean => /^(?:::ffff:)?127\.|^::1$|^$/.test(socket.remoteAddress ?? "");
