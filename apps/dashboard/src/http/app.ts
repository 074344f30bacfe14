/** Which request gets what, and which gets nothing. */
import type { Clock } from "@rheo/core";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import type { Live } from "../live/live.ts";
import type { DashboardSettings } from "../options.ts";
import type { Reads } from "../reading/reads.ts";
import { type Asset, loadAssets } from "./assets.ts";
import { NO_STORE, securityHeaders } from "./headers.ts";
import { isServedHost } from "./hosts.ts";
import { ProblemError, problemOf, statusOf } from "./problem.ts";
import { Session } from "./session.ts";

export interface AppParts {
  readonly settings: DashboardSettings;
  readonly clock: Clock;
  readonly reads: Reads;
  readonly live: Live;
}

export const createApp = ({ settings, clock, reads, live }: AppParts): Hono => {
  const { basePath, token } = settings;
  const session = token === null ? null : new Session(token, basePath);
  const app = new Hono({ strict: true });
  app.onError((error) => refusal(error));
  app.notFound(() => refusal(new ProblemError("not_found", "There is nothing here.")));
  app.use(guard(settings));
  if (basePath !== "/") app.get(basePath.slice(0, -1), (context) => context.redirect(basePath));
  app.get(`${basePath}api/*`, reader(session, clock));
  app.get(`${basePath}api/session`, (context) => openSession(context, session, clock));
  app.get(`${basePath}api/live`, (context) => watch(context, reads, live));
  app.get(`${basePath}api/:view`, (context) => answer(context, reads));
  app.get(`${basePath}*`, async (context) => assetAnswer(await loadAssets(), context.req.path.slice(basePath.length)));
  return app;
};

/** Reading, from a host that is ours, by someone the caller lets in. All else is turned away, with the same headers. */
const guard = (settings: DashboardSettings): MiddlewareHandler => {
  const headers = Object.entries(securityHeaders(settings.frameAncestors));
  return async (context, next) => {
    const refused = await refusedBy(settings, context.req.raw);
    if (refused === null) await next();
    else context.res = refused;
    for (const [name, value] of headers) context.res.headers.set(name, value);
    if (!context.res.headers.has("cache-control")) context.res.headers.set("cache-control", NO_STORE);
  };
};

const refusedBy = async ({ hosts, token, authorize }: DashboardSettings, request: Request): Promise<Response | null> => {
  if (request.method !== "GET" && request.method !== "HEAD") return methodRefusal();
  const isGuarded = token !== null || authorize !== null;
  const host = request.headers.get("host") ?? new URL(request.url).host;
  if (!isServedHost(host, hosts, isGuarded)) return refusal(wrongHost(isGuarded));
  if (!isGuarded && isForwarded(request.headers)) return refusal(FORWARDED);
  if (authorize === null) return null;
  try {
    return (await authorize(request)) === true ? null : refusal(notAllowed("You may not see this dashboard."));
  } catch (error) {
    return refusal(error); // whatever it is, it is not a yes
  }
};

/** Lets pass who knows the token. */
const reader = (session: Session | null, clock: Clock): MiddlewareHandler => {
  return async (context, next) => {
    if (session !== null && !session.isHeldBy(context.req.raw, clock.now()))
      throw notAllowed("The dashboard's token is needed: sign in, or send it as `Authorization: Bearer …`.");
    await next();
  };
};

/** A browser that has shown the token gets a cookie for it, which no script can read; `end` takes it back. */
const openSession = (context: Context, session: Session | null, clock: Clock): Response => {
  if (session === null) return context.body(null, 204);
  const isSecure = new URL(context.req.url).protocol === "https:";
  const isEnd = context.req.query("end") !== undefined;
  // a cookie alone must not end a session: any page could ask for that
  if (isEnd && context.req.header("x-rheo-dashboard") === undefined)
    throw notAllowed("Only the dashboard's own page may sign out.");
  context.header("set-cookie", isEnd ? session.closed(isSecure) : session.opened(isSecure, clock.now()));
  return context.body(null, 204);
};

const answer = async (context: Context, reads: Reads): Promise<Response> => {
  const { text, atMs } = await reads.look(context.req.param("view") ?? "", queryOf(context)).read();
  return context.body(text, 200, { "content-type": "application/json; charset=utf-8", "x-rheo-at-ms": String(atMs) });
};

/** `api/live?view=group&stream=…`: the answers of `api/group?stream=…`, as server-sent events. */
const watch = (context: Context, reads: Reads, live: Live): Response => {
  const query = queryOf(context);
  const view = query.get("view") ?? "";
  query.delete("view");
  const look = reads.look(view, query);
  const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
  return context.req.raw.method === "HEAD" ? context.body(null, 200, headers) : context.body(live.watch(look), 200, headers);
};

const queryOf = ({ req }: Context): URLSearchParams => new URL(req.url).searchParams;

/** Names of built assets change with their content. */
const FOR_EVER = "public, max-age=31536000, immutable";

const assetAnswer = (assets: ReadonlyMap<string, Asset>, path: string): Response => {
  const asset = assets.get(path === "" ? "index.html" : path);
  if (asset === undefined) throw new ProblemError("not_found", "There is nothing here.");
  const { body, type, isFixed } = asset;
  return new Response(body, { headers: { "content-type": type, "cache-control": isFixed ? FOR_EVER : NO_STORE } });
};

const notAllowed = (message: string): ProblemError => new ProblemError("unauthorized", message);

/** Whether a proxy has passed it on, so that it may come from anywhere though the proxy is on this machine. */
const isForwarded = (headers: Headers): boolean =>
  ["forwarded", "x-forwarded-for", "x-real-ip", "via"].some((name) => headers.has(name));

const FORWARDED = new ProblemError(
  "forbidden_host",
  "This request came through a proxy. Without a token or authorize, the dashboard answers this machine alone.",
);

const wrongHost = (isGuarded: boolean): ProblemError =>
  new ProblemError(
    "forbidden_host",
    isGuarded
      ? "The dashboard does not answer to this name. Give it in the option hosts."
      : "Without a token or authorize, the dashboard answers on the loopback alone, such as http://localhost.",
  );

const refusal = (error: unknown): Response => {
  const problem = problemOf(error);
  return Response.json({ error: problem }, { status: statusOf(problem) });
};

const methodRefusal = (): Response =>
  Response.json(
    { error: { code: "unsupported", message: "The dashboard only reads." } },
    { status: 405, headers: { allow: "GET, HEAD" } },
  );
