/** What may be wrong with a store and what is around it. Reads only. */
import { statfsSync } from "node:fs";
import type { Diagnosis } from "@rheo/core";
import { failure, fine, warning } from "@rheo/core/internal";
import type { Environment, Stats } from "./environment.ts";
import { networkFileSystem } from "./file-system.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Store } from "./store.ts";
import { META, readMeta } from "./tables/meta.ts";

/** Less room than that is gone sooner than it is noticed. In bytes. */
const LITTLE_ROOM_BYTES = 536_870_912;

/** The snapshot of the moment, a safe point, and one more for a backup. More are not this store's. */
const OWN_READERS = 4;

export const diagnose = ({ environment, safePoints }: Store, { durability }: ResolvedOptions): Diagnosis[] => {
  const stats = environment.stats();
  return [
    fine("schema", `version ${readMeta(environment, META.version)}`),
    keeping(durability, safePoints?.failure ?? null),
    fileSystem(environment.path),
    size(environment, stats),
    readers(environment, stats),
    room(environment.path),
    fine("clock", "the store's clock is this host's"),
  ];
};

const keeping = (durability: ResolvedOptions["durability"], failed: Error | null): Diagnosis => {
  if (failed !== null)
    return failure(
      "durability",
      `the last safe point could not be made: ${failed.message}`,
      "See that the disk has room and no errors: until one is made, a power cut takes everything since the one before.",
    );
  if (durability === "sync") return fine("durability", "what is acknowledged is on the disk");
  return fine("durability", "relaxed: a power cut may take the last second or two");
};

const fileSystem = (path: string): Diagnosis => {
  const remote = networkFileSystem(path);
  if (remote === null) return fine("file system", "local");
  return failure("file system", `it is on a network file system (${remote})`, "Put the directory on a local disk.");
};

/** Of a map that cannot grow, more than this is in use: it is time to do something about it. */
const LITTLE_MAP_SHARE = 0.8;

const size = ({ isLimited }: Environment, { pageSize, mapSize, lastPageNumber }: Stats): Diagnosis => {
  const bytes = (lastPageNumber + 1) * pageSize;
  const told = `the file has ${mebibytes(bytes)}, the map ${mebibytes(mapSize)}`;
  if (!isLimited || bytes < LITTLE_MAP_SHARE * mapSize) return fine("size", told);
  return warning(
    "size",
    `${told}, and it cannot grow under this process's limit on address space`,
    "Raise the limit (ulimit -v), or trim streams: when the map is full, appends and settles fail.",
  );
};

const readers = (environment: Environment, { numReaders }: Stats): Diagnosis => {
  const told = `${numReaders} readers`;
  if (numReaders <= OWN_READERS) return fine("readers", told);
  return warning(
    "readers",
    `${told}: ${environment.readers().trim().replaceAll(/\s+/g, " ")}`,
    "Something else has read the store, or reads it still: as long as it does, the file grows. End it.",
  );
};

const room = (path: string): Diagnosis => {
  const { bavail, bsize } = statfsSync(path);
  const told = `${mebibytes(bavail * bsize)} are free on the disk`;
  return bavail * bsize >= LITTLE_ROOM_BYTES
    ? fine("disk", told)
    : warning("disk", told, "Make room, or trim streams: when it is full, appends and settles fail.");
};

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`;
