/** An open store: its lock, its environment and its session. */
import { accessSync, constants, existsSync, mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { BackendContext } from "@rheo/core";
import { systemClock } from "@rheo/core/internal";
import { Catalog } from "./catalog.ts";
import { complete, DATA, isMade, mark, refuseLost } from "./data-file.ts";
import { Environment } from "./environment.ts";
import { isFull, refused, unavailable } from "./errors.ts";
import { networkFileSystem } from "./file-system.ts";
import { bootId } from "./host.ts";
import type { ResolvedOptions } from "./options.ts";
import { OwnerLock } from "./owner-lock.ts";
import { faultOf } from "./roots.ts";
import { hasSafePoint, removeSafePoint, restoreSafePoint, SafePoints } from "./safe-point.ts";
import { checkVersion, migrate, notMigrated } from "./schema.ts";
import { Session } from "./session.ts";
import { Sweeper } from "./sweeper.ts";

/** Files that Rheo makes; a new store is not made beside any others. */
const OURS = /^(owner\..*|data\.mdb|lock\.mdb|safe-point.*|store\.json.*)$/;

/** Room that opening takes, in bytes. */
const LEAST_ROOM_BYTES = 131_072;

export class Store {
  readonly session: Session;
  readonly environment: Environment;
  readonly safePoints: SafePoints | null;
  readonly sweeper: Sweeper;
  readonly #lock: OwnerLock;

  private constructor(session: Session, environment: Environment, safePoints: SafePoints | null, lock: OwnerLock) {
    this.session = session;
    this.environment = environment;
    this.safePoints = safePoints;
    this.#lock = lock;
    this.sweeper = new Sweeper(session);
    this.sweeper.start();
  }

  /** @throws unavailable, schema_outdated */
  static async open(options: ResolvedOptions, context: BackendContext): Promise<Store> {
    const path = resolve(options.path);
    try {
      const directory = prepareDirectory(path, context.migrate);
      const lock = await OwnerLock.take(directory);
      try {
        return await openOwned(directory, options, context, (session, environment, points) => {
          return new Store(session, environment, points, lock);
        });
      } catch (error) {
        await lock.release();
        throw error;
      }
    } catch (error) {
      throw unavailable(path, error);
    }
  }

  /** Everything that was asked for is done, and all of it is on the disk. */
  async close(): Promise<void> {
    this.session.close();
    await this.safePoints?.close();
    await this.environment.close();
    await this.#lock.release();
  }
}

/** The directory by its real path, made if need be. Nothing is made where nothing may be migrated. */
const prepareDirectory = (path: string, mayMigrate: boolean): string => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || !isMade(path)) {
    if (found !== undefined) refuseForeign(path);
    if (!mayMigrate) throw notMigrated(path);
    accessSync(nearest(path), constants.W_OK);
    mkdirSync(path, { recursive: true });
  }
  accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  if (existsSync(join(path, DATA))) accessSync(join(path, DATA), constants.R_OK | constants.W_OK);
  // where there is a safe point, the file may be put right by it
  if (!hasSafePoint(path)) refuseFaulty(path);
  refuseFull(path);
  const remote = networkFileSystem(path);
  if (remote !== null)
    throw refused(
      path,
      `it is on a network file system (${remote}), where LMDB's map and locks do not work. Put it on a local disk, or use PostgreSQL or Redis.`,
    );
  return realpathSync(path);
};

const refuseFaulty = (path: string): void => {
  const fault = existsSync(join(path, DATA)) ? faultOf(join(path, DATA)) : null;
  if (fault === null) return;
  throw refused(path, `its ${DATA} ${fault}. Restore the directory from a backup, or give Rheo one of its own.`);
};

/** LMDB maps the file of its locks, and where there is no room for that the system ends the process. */
const refuseFull = (path: string): void => {
  if (isFull(path, LEAST_ROOM_BYTES)) throw refused(path, "the disk is full. Make room and open it again.");
};

/** The path, or what there is of it. */
const nearest = (path: string): string => (existsSync(path) || path === dirname(path) ? path : nearest(dirname(path)));

const refuseForeign = (path: string): void => {
  const foreign = readdirSync(path).find((name) => !OURS.test(name));
  if (foreign === undefined) return;
  throw refused(path, `the directory holds files that are not Rheo's (${foreign}). Give Rheo a directory of its own.`);
};

const openOwned = async (
  directory: string,
  { durability }: ResolvedOptions,
  { clock, migrate: mayMigrate }: BackendContext,
  toStore: (session: Session, environment: Environment, points: SafePoints | null) => Store,
): Promise<Store> => {
  const boot = bootId();
  restoreSafePoint(directory, boot);
  refuseLost(directory);
  refuseFaulty(directory);
  // where it cannot be told whether the machine was started anew, there are no safe points: then at least the data is flushed
  const relaxed = boot === null ? "data" : "never";
  const environment = new Environment(directory, durability === "sync" ? "all" : relaxed);
  try {
    complete(directory, environment.stats());
    checkVersion(directory, environment, mayMigrate);
    const points = durability === "relaxed" && boot !== null ? await SafePoints.start(environment, directory, boot) : null;
    if (points === null) await removeSafePoint(environment, directory);
    const now = clock ?? systemClock;
    const session = new Session({
      environment,
      catalog: new Catalog(environment),
      now: () => Math.floor(now.now()),
      gathers: durability === "sync",
      committed: () => points?.committed(),
    });
    await session.write(() => migrate(environment));
    mark(directory);
    return toStore(session, environment, points);
  } catch (error) {
    await environment.close();
    throw error;
  }
};
