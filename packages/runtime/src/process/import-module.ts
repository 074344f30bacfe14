import { fileURLToPath } from "node:url";
import { RheoError } from "@rheo/core";
import { resolveTsx } from "../resolve-tsx.ts";

/**
 * Imports a module of the user's, TypeScript too: as Node does it, else through the `tsx` that is installed beside the module or
 * in the working directory. Unlike a handler's thread, this process shares its modules with the module: what that makes with
 * `@rheo/core` is made by our copy of it, so `tsx` is registered for the whole process instead of loading a graph apart.
 * @throws invalid_option - TypeScript that nothing here can run
 */
export const importModule = async (href: string): Promise<unknown> => {
  if (!/\.[cm]?tsx?$/.test(new URL(href).pathname)) return await import(href);
  try {
    return await import(href);
  } catch (cause) {
    if (!isBeyondNode(cause)) throw cause;
  }
  const tsx = resolveTsx(href);
  if (tsx === null) throw withoutTsx(href);
  const { register } = (await import(tsx)) as { register: () => unknown }; // documented API of tsx
  register();
  try {
    return await import(`${href}?tsx`); // under another name, because Node remembers the failure
  } catch (cause) {
    if (!isCommonJs(cause)) throw cause;
    throw new RheoError(
      "invalid_option",
      `${fileURLToPath(href)} is in a CommonJS package. Name it .mts, or put "type": "module" into the package.json.`,
      {},
      { cause },
    );
  }
};

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";

/** No TypeScript at all, or more of it than can be stripped. */
const isBeyondNode = (cause: unknown): boolean =>
  ["ERR_UNKNOWN_FILE_EXTENSION", "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"].includes(
    codeOf(cause),
  );

const isCommonJs = (cause: unknown): boolean => ["ERR_REQUIRE_CYCLE_MODULE", "ERR_REQUIRE_ESM"].includes(codeOf(cause));

const withoutTsx = (href: string): RheoError =>
  new RheoError(
    "invalid_option",
    `${fileURLToPath(href)} is TypeScript that Node ${process.version} cannot run by itself. Install "tsx" in your project, compile it to JavaScript, or use Node 22.18 or later.`,
  );
