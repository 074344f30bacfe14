/** URLs of Redis: taken apart by hand, because they may name several hosts, and so that no message repeats a password. */
import { RheoError } from "@rheo/core";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface UrlParts {
  readonly isTls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  /** At least one, `host` or `host:port`. */
  readonly hosts: readonly string[];
  readonly database: number | null;
  readonly query: URLSearchParams;
}

const URL_FORM = /^(rediss?):\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const MAX_DATABASE = 1_000_000;
const MAX_PORT = 65_535;

/** @throws invalid_option */
export const parseUrl = (url: unknown): UrlParts => {
  const match = typeof url === "string" ? URL_FORM.exec(url) : null;
  if (match === null)
    throw invalid(
      "url",
      "url has the form redis://user:password@host:port/database, or rediss://… for TLS; characters such as @ / ? # in a password are written %40 %2F %3F %23.",
    );
  const [, scheme, credentials, hosts = "", path = "", query = ""] = match;
  return {
    isTls: scheme === "rediss",
    ...parseCredentials(credentials),
    hosts: hosts === "" ? ["localhost"] : hosts.split(","),
    database: path === "" ? null : parseDatabase(path),
    query: new URLSearchParams(query),
  };
};

/** `user:password`, `:password` or `user`, percent-encoded. */
const parseCredentials = (text: string | undefined): Pick<UrlParts, "username" | "password"> => {
  if (text === undefined) return { username: null, password: null };
  const colon = text.indexOf(":");
  const [username, password] = colon === -1 ? [text, null] : [text.slice(0, colon), text.slice(colon + 1)];
  return { username: username === "" ? null : decode(username), password: password === null ? null : decode(password) };
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid("url", "The user or password in the url is not percent-encoded correctly.");
  }
};

const parseDatabase = (text: string): number => {
  if (/^\d{1,7}$/.test(text) && Number(text) <= MAX_DATABASE) return Number(text);
  throw invalid("url", "The path of the url is the number of a database, such as /0.");
};

/** `host`, `host:port`, `[::1]:port`, or the two apart. @throws invalid_option */
export const parseAddress = (name: string, value: unknown, defaultPort: number): Address => {
  const address = typeof value === "string" ? fromText(value, defaultPort) : fromParts(value, defaultPort);
  if (address !== null) return address;
  throw invalid(name, `${name}: an address is "host", "host:port" or { host, port }, with a port from 1 to ${MAX_PORT}.`);
};

const fromText = (text: string, defaultPort: number): Address | null => {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:@/[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  return host === undefined ? null : fromParts({ host, port: Number(match?.[3] ?? defaultPort) }, defaultPort);
};

const fromParts = (value: unknown, defaultPort: number): Address | null => {
  if (typeof value !== "object" || value === null) return null;
  const host: unknown = Reflect.get(value, "host");
  const port: unknown = Reflect.get(value, "port") ?? defaultPort;
  if (typeof host !== "string" || host === "" || typeof port !== "number") return null;
  return Number.isInteger(port) && port >= 1 && port <= MAX_PORT ? { host, port } : null;
};

export const invalid = (path: string, message: string): RheoError => new RheoError("invalid_option", message, { path });
