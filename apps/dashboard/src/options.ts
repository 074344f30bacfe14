import { type Rheo, RheoError } from "@rheo/core";
import { internalsOf, parseChoice, parseOptions, parseText } from "@rheo/core/internal";
import { isAuthority } from "./http/hosts.ts";
import type { TreeSource } from "./views/tree.ts";

/** Decides whether a request may see anything. */
export type Authorize = (request: Request) => boolean | Promise<boolean>;

/** What a dashboard shows, and to whom. */
export interface DashboardOptions {
  /** An open store. The dashboard reads from it and nothing else, and never closes it. */
  readonly rheo: Rheo;
  /** Consumers whose supervision tree is shown: what `supervise` or `superviseProcesses` of `@rheo/runtime` returns. */
  readonly app?: TreeSource;
  /** The path it is mounted at; default "/". */
  readonly basePath?: string;
  /** A secret of 16 to 256 visible ASCII characters that a reader must present. */
  readonly token?: string;
  /** A check of your own, of every request, before the token's. */
  readonly authorize?: Authorize;
  /**
   * Names by which it may be asked for, beside those of the loopback and plain IP addresses, such as "ops.example.org". They need `token`
   * or `authorize`.
   */
  readonly hosts?: readonly string[];
  /** Whose pages may show it in a frame: nobody's (default), or those of its own origin. */
  readonly frameAncestors?: FrameAncestors;
}

export type FrameAncestors = "none" | "self";

export interface DashboardSettings {
  readonly rheo: Rheo;
  readonly app: TreeSource | null;
  /** Begins and ends with a slash. */
  readonly basePath: string;
  readonly token: string | null;
  readonly authorize: Authorize | null;
  readonly hosts: ReadonlySet<string>;
  readonly frameAncestors: FrameAncestors;
}

export const DASHBOARD_NAMES = ["rheo", "app", "basePath", "token", "authorize", "hosts", "frameAncestors"] as const;

/** @throws invalid_option */
export const parseDashboardOptions = (options: unknown): DashboardSettings => {
  const raw = parseOptions("createDashboard", options, DASHBOARD_NAMES);
  const token = parseToken(raw.token);
  const authorize = parseAuthorize(raw.authorize);
  const hosts = parseHosts(raw.hosts);
  if (hosts.size > 0 && token === null && authorize === null)
    throw invalid("hosts", "hosts need a token or authorize: without one, the dashboard answers on the loopback alone.");
  return {
    rheo: parseRheo(raw.rheo),
    app: parseApp(raw.app),
    basePath: parseBasePath(raw.basePath),
    token,
    authorize,
    hosts,
    frameAncestors: parseChoice("frameAncestors", raw.frameAncestors, ["none", "self"], "none"),
  };
};

const invalid = (path: string, message: string): RheoError => new RheoError("invalid_option", message, { path });

const parseRheo = (value: unknown): Rheo => {
  if (typeof value !== "object" || value === null) throw invalid("rheo", "rheo is missing: pass what Rheo.open returned.");
  internalsOf(value);
  return value as Rheo; // it has the internals of one
};

const parseApp = (value: unknown): TreeSource | null => {
  if (value === undefined || value === null) return null;
  if (typeof value === "object" && "children" in value && typeof value.children === "function") return value as TreeSource; // by its one method
  throw invalid("app", "app is what supervise or superviseProcesses returned.");
};

const parseBasePath = (value: unknown): string => {
  const path = parseText("basePath", value) ?? "/";
  if (/^(\/[A-Za-z0-9._~-]+)*\/?$/.test(path) && !path.split("/").some((part) => part === "." || part === ".."))
    return path.endsWith("/") ? path : `${path}/`;
  throw invalid("basePath", 'basePath is a path such as "/rheo": a slash before each part, of letters, digits and ._~- alone.');
};

const parseToken = (value: unknown): string | null => {
  const token = parseText("token", value);
  if (token === null || /^[\x21-\x7e]{16,256}$/.test(token)) return token;
  throw invalid("token", "token is a secret of 16 to 256 visible ASCII characters, such as what `openssl rand -hex 24` prints.");
};

const parseAuthorize = (value: unknown): Authorize | null => {
  if (value === undefined || value === null) return null;
  if (typeof value === "function") return value as Authorize; // called with a Request; whatever it answers but true is a no
  throw invalid("authorize", "authorize is a function of a Request that returns true or false.");
};

const parseHosts = (value: unknown): ReadonlySet<string> => {
  if (value === undefined) return new Set();
  if (!Array.isArray(value)) throw invalid("hosts", "hosts is a list of names.");
  return new Set(value.map(parseHost));
};

const parseHost = (value: unknown): string => {
  if (typeof value === "string" && isAuthority(value)) return value.toLowerCase();
  throw invalid(
    "hosts",
    `hosts are names without scheme and port, such as "ops.example.org"; got ${JSON.stringify(value) ?? "undefined"}.`,
  );
};
