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
}

/** What was asked for cannot be done, as the message says: exit code 2. */
export class UsageError extends Error {}

/** A place that clears itself away when disposed of, unless `keep`. A store given by URL is left; its streams are the stories' to remove. */
export const openPlace = async (url: string | null, keep: boolean): Promise<Place> => {
  if (url === null) return await temporaryPlace(keep);
  await checkShared(url);
  return { url, shownUrl: withoutPasswords(url), [Symbol.asyncDispose]: async () => {} };
};

const temporaryPlace = async (keep: boolean): Promise<Place> => {
  const directory = await mkdtemp(join(tmpdir(), "rheo-demo-"));
  const url = `sqlite:${join(directory, "events.db").replaceAll(/[%?]/g, encodeURIComponent)}`;
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true, maxRetries: 5 });
  return { url, shownUrl: url, [Symbol.asyncDispose]: keep ? async () => {} : remove };
};

/** The demo kills processes, so the store must be one that others see and that outlives them. @throws UsageError */
const checkShared = async (url: string): Promise<void> => {
  await using rheo = await Rheo.open(url);
  const { distributed, persistent } = rheo.capabilities;
  if (distributed && persistent) return;
  const lack = persistent ? "is opened by one process at a time" : "lives in the memory of one process, and dies with it";
  throw new UsageError(
    `This store ${lack}, so no sibling process could take over from one that is killed. ` +
      "Choose one that processes share, such as --store sqlite:./demo.db, or leave --store out.",
  );
};
