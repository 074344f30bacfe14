/** Which request gets what, and which gets nothing. */
import { RheoError } from "@rheo/core";
import type { Dashboard } from "@rheo/dashboard";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { parseCommand } from "../command.ts";
import { carryOut, type Playground, stateOf } from "../playground.ts";
import { SECURITY_HEADERS } from "./headers.ts";
import type { PageFile } from "./pages.ts";

/** Where the dashboard is mounted. */
export const DASHBOARD_PATH = "/dashboard/";
/** Longer than any command, in bytes. */
const LONGEST_COMMAND = 4_096;

export interface AppParts {
  readonly playground: Playground;
  readonly dashboard: Dashboard;
  readonly pages: ReadonlyMap<string, PageFile>;
}

export const createApp = ({ playground, dashboard, pages }: AppParts): Hono => {
  const app = new Hono();
  app.onError((error, context) => context.json({ error: messageOf(error) }, isUsers(error) ? 400 : 500, SECURITY_HEADERS));
  app.notFound((context) => context.json({ error: "There is nothing here." }, 404, SECURITY_HEADERS));
  app.use(ownHost);
  app.get(`${DASHBOARD_PATH}*`, (context) => dashboard.fetch(context.req.raw));
  app.get("/api/state", async (context) => {
    const after = Number(context.req.query("after") ?? 0) || 0;
    return context.json(await stateOf(playground, after), 200, SECURITY_HEADERS);
  });
  app.post("/api/commands", ownPage, bodyLimit({ maxSize: LONGEST_COMMAND }), async (context) => {
    const given: unknown = await context.req.json().catch(() => null);
    await carryOut(playground, parseCommand(given));
    return context.body(null, 204, SECURITY_HEADERS);
  });
  app.get("*", (context) => pageAnswer(context, pages.get(context.req.path)));
  return app;
};

/** A page of somebody else's can make its own name point at this machine, but cannot make a browser send another name than its own. */
const ownHost: MiddlewareHandler = async (context, next) => {
  const { hostname } = new URL(context.req.url);
  if (["127.0.0.1", "localhost", "[::1]"].includes(hostname)) return await next();
  return context.json({ error: "The playground answers on the loopback alone." }, 403, SECURITY_HEADERS);
};

/** Another site's page may send requests here, but not with a header of its own choice. */
const ownPage: MiddlewareHandler = async (context, next) => {
  if (context.req.header("x-rheo-playground") !== undefined) return await next();
  return context.json({ error: "Commands come from the playground's own page." }, 403, SECURITY_HEADERS);
};

const pageAnswer = (context: Context, page: PageFile | undefined): Response | Promise<Response> =>
  page === undefined ? context.notFound() : context.body(page.body, 200, { ...SECURITY_HEADERS, "content-type": page.type });

const isUsers = (error: unknown): boolean => RheoError.is(error, "invalid_option") || RheoError.is(error, "invalid_name");

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
