/** A database, and how to let go of it. */
export interface Database {
  readonly url: string;
  stop(): Promise<void>;
}

/** The one that DATABASE_URL names; without it a private PostgreSQL that is gone afterwards. */
export const openDatabase = async (): Promise<Database> => {
  const url = process.env.DATABASE_URL;
  if (url !== undefined && url !== "") return { url, stop: () => Promise.resolve() };
  const { startPostgres } = await import("@rheo/testing/servers").catch((cause: unknown) => {
    throw new Error("Set DATABASE_URL, or install the development dependencies for a private PostgreSQL.", { cause });
  });
  return await startPostgres();
};
