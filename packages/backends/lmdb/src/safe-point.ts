/**
 * Commits that do not wait for the disk, and a store that is whole after a power cut all the same.
 *
 * Without a flush the system writes pages to the disk in any order, so after a power cut the newest root may point to pages that never got
 * there. So every half second a safe point is made: the snapshot of that moment is pinned, which keeps LMDB from writing over its pages;
 * everything is flushed, on another thread; then the two pages with the roots, as they were at that moment, are put into a file of their
 * own, and only then is the pin before let go. When the store is opened after another boot of the machine, these two pages are put back
 * first: the store is as it was at the safe point. After a mere crash of the process nothing is put back, because the system has all.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { DATA, syncDirectory } from "./data-file.ts";
import type { Environment } from "./environment.ts";
import { refused } from "./errors.ts";

/** From the first commit after a safe point to the next one, in ms: what a power cut may take is this, and the time a flush takes. */
const SAFE_POINT_MS = 500;

const FILE = "safe-point";
/** LMDB keeps two roots, in the first two pages. */
const ROOTS = 2;

interface Saved {
  /** The boot in which it was made. */
  readonly boot: string;
  /** The first pages of the file. */
  readonly roots: string;
  readonly checksum: number;
}

export const hasSafePoint = (directory: string): boolean => existsSync(join(directory, FILE));

/** Puts the last safe point back if the machine was started anew since it was made. Before LMDB opens the file. */
export const restoreSafePoint = (directory: string, boot: string | null): void => {
  const saved = readSaved(directory);
  if (saved === null || saved.boot === boot) return;
  const roots = Buffer.from(saved.roots, "base64");
  if (crc32(roots) !== saved.checksum)
    throw refused(
      directory,
      "its safe point is damaged, and the machine was started anew since. Restore the directory from a backup.",
    );
  const file = openSync(join(directory, DATA), "r+");
  try {
    writeSync(file, roots, 0, roots.length, 0);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

const readSaved = (directory: string): Saved | null => {
  if (!hasSafePoint(directory)) return null;
  try {
    return JSON.parse(readFileSync(join(directory, FILE), "utf8")) as Saved; // made whole by a rename
  } catch (cause) {
    throw refused(directory, `its ${FILE} cannot be read. Restore the directory from a backup.`, cause);
  }
};

/** Has everything on the disk, so that no safe point is needed. */
export const removeSafePoint = async (environment: Environment, directory: string): Promise<void> => {
  if (!hasSafePoint(directory)) return;
  await environment.flush();
  rmSync(join(directory, FILE));
  // or it would be back after a power cut, with what it leads back to
  syncDirectory(directory);
};

/** Makes safe points while the store is open. */
export class SafePoints {
  readonly #environment: Environment;
  readonly #directory: string;
  readonly #boot: string;
  #unpin: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #making: Promise<void> | null = null;
  #closed = false;
  /** What the last attempt failed with; it is made again after the next commit. */
  #failure: Error | null = null;

  private constructor(environment: Environment, directory: string, boot: string) {
    this.#environment = environment;
    this.#directory = directory;
    this.#boot = boot;
  }

  /** With the first one made: nothing may be written before. */
  static async start(environment: Environment, directory: string, boot: string): Promise<SafePoints> {
    const points = new SafePoints(environment, directory, boot);
    await points.#make();
    return points;
  }

  get failure(): Error | null {
    return this.#failure;
  }

  /** To be told after each commit. */
  committed(): void {
    if (this.#timer !== null || this.#making !== null || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#making = this.#retry();
    }, SAFE_POINT_MS);
    this.#timer.unref();
  }

  /** Has everything on the disk and the safe point gone. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#making;
    this.#unpin?.();
    await removeSafePoint(this.#environment, this.#directory);
  }

  async #retry(): Promise<void> {
    const before = this.#environment.lastTransaction;
    try {
      await this.#make();
      this.#failure = null;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
    this.#making = null;
    if (this.#environment.lastTransaction !== before) this.committed();
  }

  async #make(): Promise<void> {
    const unpin = this.#environment.pin();
    try {
      const roots = this.#roots();
      await this.#environment.flush();
      await this.#save({ boot: this.#boot, roots: roots.toString("base64"), checksum: crc32(roots) });
    } catch (error) {
      unpin();
      throw error;
    }
    this.#unpin?.();
    this.#unpin = unpin;
  }

  #roots(): Buffer {
    const roots = Buffer.alloc(ROOTS * this.#environment.pageSize);
    const file = openSync(join(this.#directory, DATA), "r");
    try {
      readSync(file, roots, 0, roots.length, 0);
    } finally {
      closeSync(file);
    }
    return roots;
  }

  async #save(saved: Saved): Promise<void> {
    const draft = join(this.#directory, `${FILE}.draft`);
    const file = await open(draft, "w");
    try {
      await file.writeFile(JSON.stringify(saved));
      await file.sync();
    } finally {
      await file.close();
    }
    renameSync(draft, join(this.#directory, FILE));
    syncDirectory(this.#directory);
  }
}
