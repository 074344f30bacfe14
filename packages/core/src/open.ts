import type { Backend } from "./backend.ts";
import { RheoError } from "./errors.ts";
import { loadPackage } from "./load-package.ts";
import { withoutPasswords } from "./without-passwords.ts";

const PACKAGES: Readonly<Record<string, string>> = {
  memory: "@rheo/memory",
  sqlite: "@rheo/sqlite",
  lmdb: "@rheo/lmdb",
  postgres: "@rheo/postgres",
  postgresql: "@rheo/postgres",
  redis: "@rheo/redis",
  rediss: "@rheo/redis",
  mongodb: "@rheo/mongo",
  "mongodb+srv": "@rheo/mongo",
};

/**
 * The backend that a store URL names, from its own package, loaded when needed.
 * @throws invalid_option - an unknown scheme
 * @throws unsupported - the package is not installed, or the client of the store that it needs
 */
export const backendFromUrl = async (url: string): Promise<Backend> => {
  const scheme = /^([a-z][a-z+]*):/.exec(url)?.[1] ?? "";
  const name = Object.hasOwn(PACKAGES, scheme) ? PACKAGES[scheme] : undefined;
  if (name === undefined) {
    const known = Object.keys(PACKAGES).map((word) => `${word}:`);
    throw new RheoError(
      "invalid_option",
      `A store URL starts with one of ${known.join(" ")}; got ${JSON.stringify(withoutPasswords(String(url)).slice(0, 30))}.`,
    );
  }
  const module = await loadPackage(name);
  const fromUrl: unknown = Reflect.get(module, "fromUrl");
  if (typeof fromUrl !== "function")
    throw new RheoError("unsupported", `The installed ${name} cannot be opened by URL; update it.`);
  return fromUrl(url) as Backend; // what the packages above export
};
