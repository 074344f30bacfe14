/**
 * One owner at a time. LMDB itself would let several processes in, but one that is killed in the middle of a write can take the others
 * with it, and a worker thread that is ended takes its process with it.
 *
 * The lock is the highest of the files `owner.1`, `owner.2` …; whoever makes the next one holds it. A file is made whole and in one step,
 * by a link, so of several takers one wins; and since the highest is never removed, only marked as released, one who comes late with an
 * old view finds the name taken, or finds a higher one once it has made its own. Whether the holder of a file lives is asked of a
 * socket that it listens on beside it: the kernel closes that with the process, whatever became of its id, in whichever container. Where
 * there are no such sockets, its process id and start time say.
 */
import { randomUUID } from "node:crypto";
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";
import { refused } from "./errors.ts";
import { isAlive, type ProcessIdentity, thisProcess } from "./host.ts";
import { answers, Listener } from "./liveness-socket.ts";

/** What an owner file says. */
interface Owner extends ProcessIdentity {
  readonly socket: string | null;
  readonly released: boolean;
}

const OWNER = /^owner\.(\d+)$/;

/** Tries in which others may come in between; each means that somebody else has made a file. */
const TRIES = 20;

export class OwnerLock {
  readonly #directory: string;
  readonly #file: string;
  readonly #owner: Owner;
  readonly #listener: Listener | null;

  private constructor(directory: string, file: string, owner: Owner, listener: Listener | null) {
    this.#directory = directory;
    this.#file = file;
    this.#owner = owner;
    this.#listener = listener;
  }

  /** @throws unavailable - somebody else owns it, or this is a worker thread */
  static async take(directory: string): Promise<OwnerLock> {
    if (!isMainThread)
      throw refused(
        directory,
        "it can be opened in the main thread only: a worker thread that is ended while it has LMDB open takes the process with it. Open it in the main thread and hand the events to workers.",
      );
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const lock = await OwnerLock.#tryTake(directory);
      // one who held it in between may have tidied the socket away, and without it this process would be taken for dead
      if (lock.#listener === null || lock.#listener.isThere) return lock;
      await lock.release();
    }
    throw contested(directory);
  }

  static async #tryTake(directory: string): Promise<OwnerLock> {
    const listener = await Listener.start(directory);
    try {
      return await takeWith(directory, listener, (file, owner) => new OwnerLock(directory, file, owner, listener));
    } catch (error) {
      await listener?.close();
      throw error;
    }
  }

  /** The next one to come may have it. */
  async release(): Promise<void> {
    this.#mark();
    await this.#listener?.close();
  }

  #mark(): void {
    const marked = join(this.#directory, `owner.release-${randomUUID()}`);
    try {
      writeFileSync(marked, JSON.stringify({ ...this.#owner, released: true } satisfies Owner));
      renameSync(marked, join(this.#directory, this.#file));
    } catch (error) {
      // somebody has removed the directory; and where the disk is full, the lock is that of a dead owner once this process ends
      if (!isCode(error, "ENOENT") && !isCode(error, "ENOSPC")) throw error;
    }
  }
}

const takeWith = async (
  directory: string,
  listener: Listener | null,
  lock: (file: string, owner: Owner) => OwnerLock,
): Promise<OwnerLock> => {
  const owner: Owner = { ...thisProcess(), socket: listener?.name ?? null, released: false };
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const held = highest(directory);
    if (held > 0) await refuseIfAlive(directory, held, owner);
    const file = `owner.${held + 1}`;
    if (!claim(directory, file, owner)) continue;
    if (highest(directory) !== held + 1) {
      rmSync(join(directory, file), { force: true });
      continue;
    }
    tidy(directory, held + 1, owner);
    return lock(file, owner);
  }
  throw contested(directory);
};

const contested = (directory: string): Error =>
  refused(directory, "others open it at the same moment, again and again. See that one process alone opens it.");

/** The number of the last owner; 0 when there was none. */
const highest = (directory: string): number =>
  readdirSync(directory).reduce((most, name) => Math.max(most, Number(OWNER.exec(name)?.[1] ?? 0)), 0);

/** False when somebody else has made that file. */
const claim = (directory: string, file: string, owner: Owner): boolean => {
  const draft = join(directory, `owner.draft-${randomUUID()}`);
  writeFileSync(draft, JSON.stringify(owner));
  try {
    linkSync(draft, join(directory, file));
    return true;
  } catch (error) {
    // one who took the lock meanwhile may have tidied the draft away
    if (isCode(error, "EEXIST") || isCode(error, "ENOENT")) return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
};

const refuseIfAlive = async (directory: string, held: number, self: ProcessIdentity): Promise<void> => {
  const owner = readOwner(directory, `owner.${held}`);
  if (owner === null || owner.released) return;
  if (owner.boot !== null && self.boot !== null && owner.boot !== self.boot) return;
  const answer = owner.socket === null ? null : await answers(directory, owner.socket);
  if (answer === false) return;
  const isOwn = owner.pid === self.pid && owner.start === self.start && owner.space === self.space;
  if (isOwn)
    throw refused(
      directory,
      `this process (${owner.pid}) has it open already, with another lmdb(…). Make one backend and pass it to each Rheo.open.`,
    );
  if (answer === null && owner.space === self.space && !isAlive(owner)) return;
  const known = answer === true || owner.space === self.space;
  const advice = known
    ? "One process owns an LMDB store. Stop that process, or let it do the work; for several processes use SQLite, PostgreSQL or Redis."
    : `It is in another container, where it cannot be seen whether it still runs. If it does not, remove ${join(directory, `owner.${held}`)}.`;
  throw refused(directory, `process ${owner.pid} has it open. ${advice}`);
};

/** Null when it went meanwhile. */
const readOwner = (directory: string, file: string): Owner | null => {
  try {
    return JSON.parse(readFileSync(join(directory, file), "utf8")) as Owner; // made whole by claim() or release()
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
};

/** Removes what earlier owners left. */
const tidy = (directory: string, held: number, { socket }: Owner): void => {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith("owner.") || name === `owner.${held}` || name === socket) continue;
    try {
      unlinkSync(join(directory, name));
    } catch (error) {
      if (!isCode(error, "ENOENT")) throw error;
    }
  }
};

const isCode = (error: unknown, code: string): boolean => error instanceof Error && "code" in error && error.code === code;
