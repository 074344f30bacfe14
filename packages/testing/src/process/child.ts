/** Runs in a process of its own: holds backends, and does to them what the parent says. */
import { type Backend, RheoError, systemClock } from "@rheo/core";
import type { Answer, Factory, Request } from "./protocol.ts";

const backends = new Map<number, Backend>();
let nowMs = 0;

/** The parent's clock, as of its last message. */
const clock = { ...systemClock, now: () => nowMs };

const factory = JSON.parse(process.argv[2] ?? "{}") as Factory; // written by the parent
const module: Record<string, unknown> = await import(factory.module);
const make = module[factory.name];
if (typeof make !== "function") throw new TypeError(`${factory.module} does not export ${factory.name}.`);

const perform = async (request: Request): Promise<unknown> => {
  if (request.kind === "make") {
    backends.set(request.backend, make(request.options) as Backend); // what the factory makes
    return null;
  }
  nowMs = request.nowMs;
  const backend = backends.get(request.backend);
  if (backend === undefined) throw new RangeError(`no backend ${request.backend}`);
  if (request.method === "open")
    return backend.open({ clock: request.args[0] === true ? clock : null, migrate: request.args[1] === true });
  const method: unknown = Reflect.get(backend, request.method);
  if (typeof method !== "function") throw new TypeError(`no method ${request.method}`);
  return Reflect.apply(method, backend, request.args);
};

const answer = (id: number, error: unknown): Answer => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : null;
  const message = error instanceof Error ? error.message : String(error);
  return RheoError.is(error)
    ? { id, kind: "error", message, code: error.code, details: error.details, cause }
    : { id, kind: "error", message, code: null, details: {}, cause };
};

process.on("message", (request: Request) => {
  perform(request).then(
    (value) => process.send?.({ id: request.id, kind: "value", value } satisfies Answer),
    (error: unknown) => process.send?.(answer(request.id, error)),
  );
});
process.on("disconnect", () => process.exit());
process.send?.({ id: 0, kind: "value", value: null } satisfies Answer);
