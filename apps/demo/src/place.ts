/** Where the demo plays: a SQLite file of its own, or the store of a URL. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { withoutPasswords } from "@rheo/core/internal";

export interface Place extends AsyncDisposable {
  readonly url: string;
  /** The URL as it may be shown: without a password. */
  readonly shownUrl: string;
  /** Only one process may have it open at a time. */
  readonly hasOneOwner: boolean;
}

/** What was asked for cannot be done, as the message says: exit code 2. */
export class UsageError extends Error {}

/** A place that clears itself away when disposed of, unless `keep`. A store given by URL is left; its streams are the stories' to remove. */
export const openPlace = async (url: string | null, keep: boolean): Promise<Place> => {
  if (url === null) return await temporaryPlace(keep);
  const hasOneOwner = await checkPersistent(url);
  return { url, shownUrl: withoutPasswords(url), hasOneOwner, [Symbol.asyncDispose]: async () => {} };
};

const temporaryPlace = async (keep: boolean): Promise<Place> => {
  const directory = await mkdtemp(join(tmpdir(), "rheo-demo-"));
  const url = `sqlite:${join(directory, "events.db").replaceAll(/[%?]/g, encodeURIComponent)}`;
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true, maxRetries: 5 });
  return { url, shownUrl: url, hasOneOwner: false, [Symbol.asyncDispose]: keep ? async () => {} : remove };
};

/** The demo kills processes, so the store must be one that outlives them. Whether only one may have it open. @throws UsageError */
const checkPersistent = async (url: string): Promise<boolean> => {
  await using rheo = await Rheo.open(url);
  const { distributed, persistent } = rheo.capabilities;
  if (persistent) return !distributed;
  throw new UsageError(
    "This store lives in the memory of one process, and dies with it, so nothing could take over from one that is killed. " +
      "Choose another, such as --store sqlite:./demo.db, or leave --store out.",
  );
};
