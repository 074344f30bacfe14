/** Server-sent events: one stream of messages for each browser tab that is looked at, one feed for each view. */
import type { Clock } from "@rheo/core";
import { ProblemError } from "../http/problem.ts";
import type { Look } from "../reading/reads.ts";
import { Feed } from "./feed.ts";
import { Viewer } from "./viewer.ts";

/** Tabs that may watch at a time: a connection and a message each. */
const MOST_VIEWERS = 250;

export class Live {
  readonly #clock: Clock;
  readonly #feeds = new Map<string, Feed>();
  #viewers = 0;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many watch. */
  get viewers(): number {
    return this.#viewers;
  }

  /** The body of an answer that goes on until the browser or the dashboard ends it. @throws ProblemError busy */
  watch(look: Look): ReadableStream<Uint8Array> {
    if (this.#isClosed) throw new ProblemError("closed", "The dashboard is closed.");
    if (this.#viewers >= MOST_VIEWERS)
      throw new ProblemError("busy", `${MOST_VIEWERS} pages watch already. Close some, or try again later.`);
    const feed = this.#feeds.get(look.key) ?? new Feed(look, this.#clock);
    this.#feeds.set(look.key, feed);
    const viewer = new Viewer(() => this.#leave(look.key, feed, viewer));
    this.#viewers += 1;
    viewer.show("retry: 2000\n\n");
    feed.add(viewer);
    return viewer.body;
  }

  /** Ends all. */
  close(): void {
    this.#isClosed = true;
    for (const feed of this.#feeds.values()) feed.end();
    this.#feeds.clear();
    this.#viewers = 0;
  }

  #leave(key: string, feed: Feed, viewer: Viewer): void {
    feed.remove(viewer);
    this.#viewers = Math.max(0, this.#viewers - 1);
    if (!feed.isWatched && this.#feeds.get(key) === feed) this.#feeds.delete(key);
  }
}
