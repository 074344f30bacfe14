/**
 * Which names the dashboard answers to. A page of somebody else's can make its own name point at this machine (DNS rebinding) and read
 * what is served without a password; but it cannot make a browser send another name than its own.
 */

/** Whether a text is a name, and nothing beside. */
export const isAuthority = (text: string): boolean => /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/.test(text);

/** A name or address that only this machine has. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);

/** An address, which no DNS entry leads to. */
const isAddress = (host: string): boolean => /^\d{1,3}(\.\d{1,3}){3}$/.test(host) || host.includes(":");

/** The host of a `Host` header in lower case, without port, brackets and final dot; null when it is not one. */
const hostOf = (header: string): string | null => {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/.exec(header.toLowerCase()) ?? [];
  return bracketed ?? plain?.replace(/\.$/, "") ?? null;
};

/** Whether a request for this `Host` may be answered. Where nobody has to prove who they are, the loopback's alone. */
export const isServedHost = (header: string, hosts: ReadonlySet<string>, isGuarded: boolean): boolean => {
  const host = hostOf(header);
  if (host === null) return false;
  return isLoopback(host) || (isGuarded && (isAddress(host) || hosts.has(host)));
};
