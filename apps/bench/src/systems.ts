/** The stores that are measured: each opens empty in a place of its own and leaves nothing behind. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { lmdb } from "@rheo/lmdb";
import { memory } from "@rheo/memory";
import { mongo } from "@rheo/mongo";
import { postgres } from "@rheo/postgres";
import { redis } from "@rheo/redis";
import { sqlite } from "@rheo/sqlite";
import type { HostName, Hosts, ServerStore } from "./hosts.ts";
import { vacuum } from "./postgres-host.ts";

/** What several instances share, in one process or in many. */
export interface ServerPlace {
  readonly kind: "server";
  readonly store: ServerStore;
  readonly url: string;
  /** The schema, or the prefix of the keys. */
  readonly name: string;
  /** Opens it in another process. */
  readonly storeUrl: string;
}

/** Where a store keeps its data. */
export type Place =
  | { readonly kind: "memory" }
  | { readonly kind: "file"; readonly file: string; readonly synchronous: "normal" | "full" }
  | { readonly kind: "owner"; readonly path: string; readonly durability: "relaxed" | "sync" }
  | ServerPlace;

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

export const KNOWN_STORES = ["memory", "sqlite", "lmdb", "postgres", "redis", "mongo"] as const;
export type Store = (typeof KNOWN_STORES)[number];

/** The systems of a store. */
export const systemsOf = async (store: Store, hosts: Hosts): Promise<readonly System[]> => {
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
    case "lmdb":
      return (["relaxed", "sync"] as const).map((durability) => ({
        name: "lmdb",
        settings: `durability=${durability}`,
        kind: "owner",
        open: () => owned(durability),
      }));
    case "postgres": {
      const host = await hosts.postgres();
      const open = (): Promise<Opened> => {
        const { url, schema, drop } = host.schema();
        return onServer(placeOf("postgres", url, "schema", schema), drop);
      };
      return [{ name: "postgres", settings: host.settings, kind: "server", open }];
    }
    case "redis": {
      const host = await hosts.redis();
      const open = (): Promise<Opened> => {
        const { url, name, drop } = host.scratch();
        return onServer(placeOf("redis", url, "prefix", name), drop);
      };
      return [{ name: "redis", settings: host.settings, kind: "server", open }];
    }
    case "mongo": {
      const host = await hosts.mongo();
      const open = (): Promise<Opened> => {
        const { url, name, drop } = host.scratch();
        const storeUrl = url.replace(/\/?(\?|$)/, `/${name}$1`);
        return onServer({ kind: "server", store: "mongo", url, name, storeUrl }, drop);
      };
      return [{ name: "mongo", settings: host.settings, kind: "server", open }];
    }
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

const owned = async (durability: "relaxed" | "sync"): Promise<Opened> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-bench-"));
  const path = join(folder, "events");
  const rheo = await Rheo.open({ backend: lmdb({ path, durability }) });
  const close = async (): Promise<void> => {
    await rheo.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { rheo, place: { kind: "owner", path, durability }, close };
};

const placeOf = (store: ServerPlace["store"], url: string, parameter: string, name: string): ServerPlace => ({
  kind: "server",
  store,
  url,
  name,
  storeUrl: `${url}${url.includes("?") ? "&" : "?"}${parameter}=${name}`,
});

const onServer = async (place: ServerPlace, drop: () => Promise<void>): Promise<Opened> => {
  const rheo = await openAgain(place);
  const close = async (): Promise<void> => {
    await rheo.close();
    await drop();
  };
  return { rheo, place, close };
};

/** One more instance on the same data, which shares nothing with the others but the server. */
export const openAgain = ({ store, url, name }: ServerPlace): Promise<Rheo> => {
  switch (store) {
    case "postgres":
      return Rheo.open({ backend: postgres({ url, schema: name }) });
    case "redis":
      return Rheo.open({ backend: redis({ url, prefix: name }) });
    case "mongo":
      return Rheo.open({ backend: mongo({ url, database: name }) });
    default:
      return store satisfies never;
  }
};

/** Done after a backlog is there and before it is measured, where a store tidies up by itself at times. */
export const tidy = async (host: HostName, url: string): Promise<void> => {
  if (host === "postgres") await vacuum(url);
};

/** What opens the same data in another process; null where only one may have it open. */
export const sharedUrlOf = (place: Place): string | null =>
  place.kind === "file" || place.kind === "server" ? urlOf(place) : null;

/** What opens it in another process, while this one has it closed. */
export const urlOf = (place: Place): string => {
  switch (place.kind) {
    case "memory":
      return "memory:";
    case "file":
      return `sqlite:${place.file}?synchronous=${place.synchronous}`;
    case "owner":
      return `lmdb:${place.path}?durability=${place.durability}`;
    case "server":
      return place.storeUrl;
    default:
      return place satisfies never;
  }
};
