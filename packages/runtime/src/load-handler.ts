import { fileURLToPath } from "node:url";
import { RheoError, type StreamDefinition } from "@rheo/core";
import { failureText } from "@rheo/core/internal";
import { type DefinedHandler, HANDLER } from "./handler.ts";
import { resolveTsx } from "./resolve-tsx.ts";

/** A handler ready to be called. */
export interface LoadedHandler {
  readonly run: (input: unknown, context: unknown) => unknown;
  readonly setup: (() => unknown) | null;
  readonly teardown: ((value: unknown) => unknown) | null;
  /** Of the stream that it says it handles; null: of any. */
  readonly stream: StreamDefinition<unknown, unknown> | null;
}

/** What a consumer expects of its handler. Plain, so that it can be told to a thread. */
export interface HandlerUse {
  /** Name of the stream. */
  readonly stream: string;
  /** The stream has upcasters, which only the module can bring into a thread. */
  readonly needsDefinition: boolean;
}

/**
 * Imports a handler module: its default export is what `handler()` or `batchHandler()` returned, or a bare function.
 * @throws invalid_option - it cannot be loaded, or has no such export
 */
export const loadHandler = async (href: string): Promise<LoadedHandler> => {
  const module = await importModule(href).catch((cause: unknown) => {
    if (RheoError.is(cause, "invalid_option")) throw cause;
    throw new RheoError(
      "invalid_option",
      `The handler module ${href} cannot be loaded: ${failureText(cause, "it threw nothing readable").reason}`,
      { path: "handler" },
      { cause },
    );
  });
  const exported = unwrapDefault(module);
  if (typeof exported === "function") return asLoaded(exported);
  throw new RheoError("invalid_option", `The handler module ${href} has no default export made by handler(…).`, {
    path: "handler",
  });
};

/** Through `tsImport`, and for CommonJS, the default export may be wrapped once more. */
const unwrapDefault = (module: unknown): unknown => {
  const outer: unknown = Reflect.get(Object(module), "default");
  if (typeof outer !== "object" || outer === null) return outer;
  return Reflect.get(outer, "default");
};

type Callable = (...parts: unknown[]) => unknown;

/** Takes apart what `handler()` made; a bare function is a handler without setup. */
export const asLoaded = (exported: unknown): LoadedHandler => {
  if (isDefined(exported)) {
    const { run, setup, teardown, stream } = exported[HANDLER];
    return { run: run as Callable, setup, teardown: teardown as Callable | null, stream: stream ?? null }; // the event and value types were the author's view
  }
  return { run: exported as Callable, setup: null, teardown: null, stream: null }; // callers have checked that it is a function
};

/** @throws invalid_option - the handler is for another stream, or cannot give events in their newest shape */
export const checkUse = (handler: LoadedHandler, { stream, needsDefinition }: HandlerUse): void => {
  const { stream: own } = handler;
  if (own !== null && own.name !== stream)
    throw new RheoError("invalid_option", `The handler is for stream "${own.name}", and its consumer for "${stream}".`, {
      path: "handler",
    });
  if (needsDefinition && own === null)
    throw new RheoError(
      "invalid_option",
      `Events of "${stream}" have versions, and a definition cannot be sent to a thread: import it in the handler's module, and pass it there: handler(…, { stream: definition }).`,
      { path: "handler" },
    );
};

/** Whether a value was made by `handler()` or `batchHandler()`. */
export const isDefined = (value: unknown): value is DefinedHandler => typeof value === "function" && HANDLER in value;

const importModule = async (href: string): Promise<unknown> => {
  if (!/\.[cm]?tsx?$/.test(new URL(href).pathname)) return await import(href);
  try {
    return await import(href);
  } catch (cause) {
    if (!isUnknownExtension(cause)) throw cause;
    return await importThroughTsx(href);
  }
};

const isUnknownExtension = (cause: unknown): boolean =>
  cause instanceof Error &&
  "code" in cause &&
  (cause.code === "ERR_UNKNOWN_FILE_EXTENSION" || cause.code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING");

const importThroughTsx = async (href: string): Promise<unknown> => {
  const tsx = resolveTsx(href);
  if (tsx === null) throw withoutTsx(href);
  const { tsImport } = (await import(tsx)) as { tsImport: (href: string, parent: string) => Promise<unknown> }; // documented API of tsx
  return await tsImport(href, href);
};

const withoutTsx = (href: string): RheoError =>
  new RheoError(
    "invalid_option",
    `The handler ${fileURLToPath(href)} is TypeScript, and Node ${process.version} cannot run it by itself. Install "tsx" in your project, compile the handler to JavaScript, or use Node 22.18 or later.`,
    { path: "handler" },
  );
