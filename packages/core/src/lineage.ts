import { RheoError } from "./errors.ts";
import type { Event, Metadata } from "./event.ts";
import { parseOptions, parseText } from "./options.ts";

/** Where an event comes from; each is queryable as metadata. */
export interface Lineage {
  /** The same for everything that follows from one cause. */
  readonly correlationId?: string;
  /** Id of the event that led to this one. */
  readonly causationId?: string;
  readonly producer?: string;
  readonly schema?: string;
  readonly schemaVersion?: number | string;
}

/** Metadata with the given parts. @throws invalid_option */
export const lineage = (parts: Lineage): Metadata => {
  const raw = parseOptions("lineage", parts, ["correlationId", "causationId", "producer", "schema", "schemaVersion"]);
  const metadata: Record<string, string | number> = {};
  for (const name of ["correlationId", "causationId", "producer", "schema"] as const) {
    const text = parseText(name, raw[name]);
    if (text !== null) metadata[name] = text;
  }
  const version = raw.schemaVersion;
  if (typeof version === "string" || (typeof version === "number" && Number.isFinite(version))) metadata.schemaVersion = version;
  else if (version !== undefined)
    throw new RheoError("invalid_option", "schemaVersion is a string or a number.", { path: "schemaVersion" });
  return metadata;
};

/** Lineage of an event that `by` led to: its id as causation, its correlation (or id) as correlation. */
export const caused = (by: Pick<Event<unknown>, "id" | "metadata">, more: Omit<Lineage, "causationId"> = {}): Metadata => {
  const correlation = by.metadata.correlationId;
  return lineage({ correlationId: typeof correlation === "string" ? correlation : by.id, ...more, causationId: by.id });
};
