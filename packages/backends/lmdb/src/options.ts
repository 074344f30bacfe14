import { RheoError } from "@rheo/core";
import { parseChoice, parseOptions } from "@rheo/core/internal";

/** Whether a write counts once it is on disk, or soon after. */
export type Durability = "sync" | "relaxed";

/** Where the store lies, and how safely it writes. */
export interface LmdbOptions {
  /** Path of the directory; made if absent. It belongs to Rheo alone, on a local disk. */
  readonly path: string;
  /**
   * "sync" (default): what was acknowledged survives a power cut. "relaxed": it survives a crash of the process, but a power cut may
   * take what was acknowledged in the last second or two; the store is whole in either case.
   */
  readonly durability?: Durability;
}

export interface ResolvedOptions {
  readonly path: string;
  readonly durability: Durability;
}

const DURABILITIES = ["sync", "relaxed"] as const;

/** @throws invalid_option */
export const resolveOptions = (options: unknown): ResolvedOptions => {
  const raw = parseOptions("lmdb", options, ["path", "durability"]);
  if (typeof raw.path !== "string" || raw.path === "" || raw.path.includes("\0"))
    throw invalid("path", "lmdb: path is the path of a directory.");
  return { path: raw.path, durability: parseChoice("durability", raw.durability, DURABILITIES, "sync") };
};

const invalid = (path: string, message: string): RheoError => new RheoError("invalid_option", message, { path });

/**
 * `lmdb:./relative` or `lmdb:/absolute`, each with `?durability=relaxed` if wanted. Percent escapes are decoded. `//` in front of an
 * absolute path, as in `lmdb:///data/events`, is allowed.
 * @throws invalid_option
 */
export const optionsFromUrl = (url: string): LmdbOptions => {
  const [, path = "", query = ""] = /^lmdb:([^?]*)(?:\?(.*))?$/s.exec(url) ?? [];
  if (path === "")
    throw invalid("url", `An LMDB URL is lmdb:PATH, such as lmdb:./events; got ${JSON.stringify(url.slice(0, 60))}.`);
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (name !== "durability") throw invalid(name, `lmdb URL: unknown option "${name}". Known: durability.`);
  const durability = parameters.get("durability");
  return {
    path: decode(path.startsWith("///") ? path.slice(2) : path, url),
    ...(durability === null ? {} : { durability: parseChoice("durability", durability, DURABILITIES, "sync") }),
  };
};

const decode = (path: string, url: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    throw invalid("url", `An LMDB URL has a bad percent escape: ${JSON.stringify(url.slice(0, 60))}.`);
  }
};
