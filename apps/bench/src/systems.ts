/** The stores that are measured: each opens empty in a place of its own and leaves nothing behind. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { postgres } from "@rheo/postgres";
import { sqlite } from "@rheo/sqlite";
import { type PostgresHost, vacuum } from "./postgres-host.ts";

/** Where a store keeps its data. */
export type Place =
  | { readonly kind: "memory" }
  | { readonly kind: "file"; readonly file: string; readonly synchronous: "normal" | "full" }
  | { readonly kind: "schema"; readonly url: string; readonly schema: string };

export interface Opened {
  readonly rheo: Rheo;
  readonly place: Place;
  readonly close: () => Promise<void>;
}

export interface System {
  readonly name: string;
  /** What decides the result, as it appears in reports. */
  readonly settings: string;
  readonly kind: Place["kind"];
  readonly open: () => Promise<Opened>;
}

export const KNOWN_STORES = ["memory", "sqlite", "postgres"] as const;
export type Store = (typeof KNOWN_STORES)[number];

/** The systems of a store. `host` is there when postgres is measured. */
export const systemsOf = (store: Store, host: PostgresHost | null): readonly System[] => {
  switch (store) {
    case "memory":
      return [{ name: "memory", settings: "", kind: "memory", open: inMemory }];
    case "sqlite":
      return (["normal", "full"] as const).map((synchronous) => ({
        name: "sqlite",
        settings: `synchronous=${synchronous}`,
        kind: "file",
        open: () => onDisk(synchronous),
      }));
    case "postgres":
      return host === null ? [] : [{ name: "postgres", settings: host.settings, kind: "schema", open: () => inSchema(host) }];
    default:
      return store satisfies never;
  }
};

const inMemory = async (): Promise<Opened> => {
  const rheo = await Rheo.open({ backend: memory() });
  return { rheo, place: { kind: "memory" }, close: () => rheo.close() };
};

const onDisk = async (synchronous: "normal" | "full"): Promise<Opened> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-bench-"));
  const file = join(folder, "bench.db");
  const rheo = await Rheo.open({ backend: sqlite({ file, synchronous }) });
  const close = async (): Promise<void> => {
    await rheo.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { rheo, place: { kind: "file", file, synchronous }, close };
};

const inSchema = async (host: PostgresHost): Promise<Opened> => {
  const { url, schema, drop } = host.schema();
  const place = { kind: "schema", url, schema } as const;
  const rheo = await openAgain(place);
  const close = async (): Promise<void> => {
    await rheo.close();
    await drop();
  };
  return { rheo, place, close };
};

/** One more instance on the same data, which shares nothing with the others but the server. */
export const openAgain = ({ url, schema }: Extract<Place, { kind: "schema" }>): Promise<Rheo> =>
  Rheo.open({ backend: postgres({ url, schema }) });

/** Done after a backlog is there and before it is measured, where a store tidies up by itself at times. */
export const tidy = async (place: Place): Promise<void> => {
  if (place.kind === "schema") await vacuum(place.url);
};
