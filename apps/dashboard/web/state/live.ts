/** Watching a view: the server sends it whenever it changes. A tab that nobody looks at holds no connection. */
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { apiUrl, ask, type Problem, type Query } from "./api.ts";
import { noteServerTime } from "./time.ts";

export type Connection = "connecting" | "live" | "lost";

/** Of the page that is shown; null where nothing is watched. */
export const connection: Signal<Connection | null> = signal(null);

export interface Watched<View> {
  /** What was sent last; null before. */
  readonly view: View | null;
  /** Why there is nothing newer. */
  readonly problem: Problem | null;
}

/** The browser tries again by itself, except when the server refused; then we ask why, this often. */
const REFUSED_MS = 4_000;

class Watch<View> {
  readonly state: Signal<Watched<View>> = signal({ view: null, problem: null });
  readonly #name: string;
  readonly #query: Query;
  #source: EventSource | null = null;
  #retry = 0;
  #asking = new AbortController();

  constructor(name: string, query: Query) {
    this.#name = name;
    this.#query = query;
  }

  open(): void {
    if (this.#source !== null || document.hidden) return;
    connection.value = "connecting";
    const source = new EventSource(apiUrl("live", { view: this.#name, ...this.#query }));
    this.#source = source;
    source.addEventListener("data", ({ data }) => this.#take(data as string));
    source.addEventListener("problem", ({ data }) => this.#take(data as string));
    source.addEventListener("same", ({ data }) => this.#take(data as string));
    source.addEventListener("error", () => this.#lose(source));
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#asking.abort();
    this.#source?.close();
    this.#source = null;
    connection.value = null;
  }

  #take(text: string): void {
    const message = JSON.parse(text) as { atMs: number; data?: View; problem?: Problem }; // as live/feed.ts writes it
    connection.value = "live";
    noteServerTime(message.atMs);
    if (message.data !== undefined) this.state.value = { view: message.data, problem: null };
    else if (message.problem !== undefined) this.state.value = { ...this.state.value, problem: message.problem };
  }

  #lose(source: EventSource): void {
    connection.value = "lost";
    if (source.readyState !== EventSource.CLOSED) return;
    this.#source?.close();
    this.#source = null;
    void this.#askWhy();
  }

  async #askWhy(): Promise<void> {
    this.#asking = new AbortController();
    const { signal: aborted } = this.#asking;
    try {
      const { problem } = await ask(this.#name, this.#query, aborted);
      if (problem !== null) this.state.value = { ...this.state.value, problem };
      this.#retry = window.setTimeout(() => this.open(), REFUSED_MS);
    } catch {
      if (!aborted.aborted) throw new TypeError("ask() rejects when aborted, and only then.");
    }
  }
}

/** The view as it is now, and from now on. */
export const useLive = <View>(name: string, query: Query): Watched<View> => {
  const key = JSON.stringify([name, query]);
  const watch = useMemo(() => new Watch<View>(name, query), [key]);
  useEffect(() => {
    const onVisible = (): void => (document.hidden ? watch.close() : watch.open());
    watch.open();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      document.removeEventListener("visibilitychange", onVisible);
      watch.close();
    };
  }, [watch]);
  return watch.state.value;
};
