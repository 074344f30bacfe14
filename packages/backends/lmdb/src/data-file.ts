/** The file that LMDB keeps everything in, as far as it has to be looked after from outside. */
import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Stats } from "./environment.ts";
import { refused } from "./errors.ts";

export const DATA = "data.mdb";

/** There once the store was made: LMDB would make an empty one where its file is gone. */
const MARK = "store.json";

const sizeOf = (directory: string): number => statSync(join(directory, DATA), { throwIfNoEntry: false })?.size ?? 0;

export const isMade = (directory: string): boolean => sizeOf(directory) > 0 || existsSync(join(directory, MARK));

/** @throws unavailable - the store was made, but its file is gone or empty */
export const refuseLost = (directory: string): void => {
  if (sizeOf(directory) > 0 || !existsSync(join(directory, MARK))) return;
  throw refused(
    directory,
    `its ${DATA} is gone or empty, though it was there. Restore the directory from a backup, or remove it to begin anew.`,
  );
};

/** Notes that the store was made. */
export const mark = (directory: string): void => {
  if (existsSync(join(directory, MARK))) return;
  writeFileSync(join(directory, `${MARK}.draft`), JSON.stringify({ store: "rheo" }), { flush: true });
  renameSync(join(directory, `${MARK}.draft`), join(directory, MARK));
  syncDirectory(directory);
  syncDirectory(dirname(directory));
};

/** Has the names of a directory on the disk. Where directories cannot be flushed the system does it. */
export const syncDirectory = (directory: string): void => {
  if (process.platform === "win32") return;
  const open = openSync(directory, "r");
  try {
    fsyncSync(open);
  } finally {
    closeSync(open);
  }
};

/**
 * Makes the file as long as its pages reach. It may end before its last pages if they are free; but if it was cut short, reading beyond its
 * end would kill the process, and reading zeros is an error like any other.
 */
export const complete = (directory: string, { pageSize, lastPageNumber }: Pick<Stats, "pageSize" | "lastPageNumber">): void => {
  const needed = (lastPageNumber + 1) * pageSize;
  if (sizeOf(directory) >= needed) return;
  const file = openSync(join(directory, DATA), "r+");
  try {
    ftruncateSync(file, needed);
  } finally {
    closeSync(file);
  }
};
