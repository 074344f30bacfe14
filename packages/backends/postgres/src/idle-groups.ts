/**
 * Fetches of groups that are idle. A group had nothing the last time, and of its stream nobody has told anything since: then a fetch is a
 * poll, that most likely finds nothing again. Groups of a process poll at shared instants, so those of one turn of the event loop are looked at
 * in one statement, and only what has something is fetched from.
 */
import type { ExchangeRequest } from "@rheo/core";
import type { Database, Statement } from "./database.ts";

const CLAIMABLE: Statement = { text: "SELECT @.claimable($1::jsonb, $2::bigint)", writes: false, often: true };

/** Groups looked at by one statement, so that it stays short. */
const AT_ONCE = 200;

/** Streams with idle groups that are remembered. One that is not is fetched from at once. */
const STREAMS_KEPT = 10_000;

interface Waiting {
  readonly request: ExchangeRequest;
  readonly resolve: (may: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export class IdleGroups {
  /** By stream. */
  readonly #groups = new Map<string, Set<string>>();
  readonly #look: (requests: readonly ExchangeRequest[]) => Promise<ReadonlySet<number>>;
  #waiting: Waiting[] = [];
  #heard = 0;

  /** @param look - the places of the requests that may find something */
  constructor(look: (requests: readonly ExchangeRequest[]) => Promise<ReadonlySet<number>>) {
    this.#look = look;
  }

  /** How often something was heard: for {@link found}. */
  get heard(): number {
    return this.#heard;
  }

  /** Something may have become fetchable. Null: in any stream. */
  hear(stream: string | null): void {
    this.#heard += 1;
    if (stream === null) this.#groups.clear();
    else this.#groups.delete(stream);
  }

  /**
   * What came of a fetch.
   * @param heard - as it was when the fetch was sent: it may not know of what was heard since
   */
  found({ stream, group }: ExchangeRequest, something: boolean, heard: number): void {
    const groups = this.#groups.get(stream);
    if (something) return void groups?.delete(group);
    if (heard !== this.#heard) return;
    if (groups !== undefined) return void groups.add(group);
    if (this.#groups.size >= STREAMS_KEPT) this.#groups.clear();
    this.#groups.set(stream, new Set([group]));
  }

  /** Whether a request is a poll of an idle group, and nothing else. */
  isPoll({ stream, group, settlements, fetch }: ExchangeRequest): boolean {
    return fetch !== null && settlements.length === 0 && this.#groups.get(stream)?.has(group) === true;
  }

  /** Whether such a poll may find something. @throws unavailable */
  mayFind(request: ExchangeRequest): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // timers of the same instant have all run by then
      if (this.#waiting.length === 0) setImmediate(() => void this.#flush());
      this.#waiting.push({ request, resolve, reject });
    });
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const [alone] = waiting;
    // a fetch by itself is one statement as well
    if (waiting.length === 1) return alone?.resolve(true);
    for (let from = 0; from < waiting.length; from += AT_ONCE) await this.#flushPart(waiting.slice(from, from + AT_ONCE));
  }

  async #flushPart(waiting: readonly Waiting[]): Promise<void> {
    try {
      const places = await this.#look(waiting.map(({ request }) => request));
      for (const [place, { resolve }] of waiting.entries()) resolve(places.has(place));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}

/** Of requests that fetch, the places of those that may find something. @throws unavailable */
export const claimable = async (
  database: Database,
  requests: readonly ExchangeRequest[],
  nowMs: number | null,
): Promise<ReadonlySet<number>> => {
  const groups = requests.map(({ stream, group, fetch }) => [stream, group, fetch?.partitions ?? null]);
  const rows = await database.run(CLAIMABLE, [JSON.stringify(groups), nowMs]);
  return new Set(rows.map(([place]) => Number(place)));
};
