/** Where the playground plays: a SQLite file of its own, or the store of a URL. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { withoutPasswords } from "@rheo/core/internal";

export interface Place extends AsyncDisposable {
  readonly url: string;
  /** The URL as it may be shown: without a password. */
  readonly shownUrl: string;
  /** The temporary folder; null for a store that was given. */
  readonly folder: string | null;
  readonly stream: string;
}

/** What was asked for cannot be done, as the message says. */
export class UsageError extends Error {}

/** A place that clears itself away when disposed of. A store given by URL is left; the playground's stream there is not the place's to remove. */
export const openPlace = async (url: string | null): Promise<Place> => {
  if (url === null) return await temporaryPlace();
  await checkShared(url);
  const stream = `playground-${randomUUID().slice(0, 8)}`; // so that several on one store do not meet
  return { url, shownUrl: withoutPasswords(url), folder: null, stream, [Symbol.asyncDispose]: async () => {} };
};

const temporaryPlace = async (): Promise<Place> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-playground-"));
  const url = `sqlite:${join(folder, "events.db").replaceAll(/[%?]/g, encodeURIComponent)}`;
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  return { url, shownUrl: url, folder, stream: "orders", [Symbol.asyncDispose]: remove };
};

/** Members are processes, so the store must be one that they share and that outlives them. @throws UsageError */
const checkShared = async (url: string): Promise<void> => {
  await using rheo = await Rheo.open(url);
  const { distributed, persistent } = rheo.capabilities;
  if (distributed && persistent) return;
  const lack = persistent ? "is opened by one process at a time" : "lives in the memory of one process, and dies with it";
  throw new UsageError(
    `This store ${lack}, but the playground's members are processes. ` +
      "Choose one that processes share, such as --store sqlite:./playground.db, or leave --store out.",
  );
};
