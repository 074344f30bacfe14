/** Running statements: what is retried, what a failure means, and what becomes of the connection. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { RheoError } from "@rheo/core";
import { isOfName, isRefusal, isTransient, outcomeUnknown, unavailable } from "./errors.ts";
import { inSchema } from "./identifiers.ts";
import { Lane } from "./lane.ts";
import type { ResolvedOptions } from "./options.ts";
import { type ClientLike, Connections } from "./pool.ts";

/** A value as the server sends it: text. */
type Cell = string | null;
export type Row = readonly Cell[];
export type Value = string | number | boolean | null | readonly number[];

export interface Statement {
  /** With the schema written `@.`. */
  readonly text: string;
  /** Then a lost answer is not a failure. */
  readonly writes: boolean;
  /** Parsed and planned once per connection, where connections are not shared. */
  readonly often?: boolean;
  /** Takes effect after those of its kind that were run before, answered or not; but one that conflicts and is tried again has lost its place. */
  readonly inOrder?: boolean;
}

export const reading = (text: string): Statement => ({ text, writes: false });
export const writing = (text: string): Statement => ({ text, writes: true });

/** Tries of a statement that conflicts with others. Each was undone by the server as a whole. */
const MAX_TRIES = 8;
/** Migrations wait for one another, and may have much to do. */
const LONG_MS = 3_600_000;
/** The longest pause before the second try, in ms; doubled for each further one. */
const PAUSE_MS = 4;

const asText = { getTypeParser: () => (value: Cell) => value };

export class Database {
  readonly #options: ResolvedOptions;
  readonly #connections: Connections;
  readonly #lane: Lane;
  readonly #random: () => number;
  /** Statements with the schema filled in. */
  readonly #texts = new Map<string, string>();
  /** Their names. */
  readonly #names = new Map<string, string>();
  /** Whether a connection of the pool is a session of its own: not known to be so of what a pooler may share. */
  readonly #hasSessions: () => boolean;
  #mayName = true;

  constructor(options: ResolvedOptions, random: () => number, hasSessions: () => boolean) {
    this.#options = options;
    this.#random = random;
    this.#hasSessions = hasSessions;
    this.#connections = new Connections(options);
    this.#lane = new Lane(this.#connections);
  }

  get connections(): Connections {
    return this.#connections;
  }

  /** A statement as it is sent. */
  textOf(text: string): string {
    const known = this.#texts.get(text) ?? inSchema(text, this.#options.schema);
    this.#texts.set(text, known);
    return known;
  }

  /** Runs one statement in a transaction of its own. @throws unavailable, outcome_unknown */
  async run(statement: Statement, values: readonly Value[] = []): Promise<readonly Row[]> {
    const query = { text: this.textOf(statement.text), values: [...values], rowMode: "array", types: asText };
    const lender = statement.inOrder === true && this.#options.pipelines ? this.#lane : this.#connections;
    for (let attempt = 1; ; attempt++) {
      const client = await lender.borrow();
      const named = statement.often === true && this.#mayName && this.#hasSessions();
      try {
        const rows = await this.send(client, named ? { ...query, name: this.#nameOf(query.text) } : query);
        client.release();
        return rows;
      } catch (error) {
        client.release(isRefusal(error) ? undefined : asError(error));
        if (named && isOfName(error)) {
          this.#mayName = false;
          continue;
        }
        if (!this.#mayRetry(statement, error, attempt))
          throw isRefusal(error) || !statement.writes ? unavailable(error) : outcomeUnknown(error);
      }
      await this.#pause(attempt);
    }
  }

  /** One statement outside any transaction, which may take long, such as the building of an index. @throws unavailable, outcome_unknown */
  async runLong(text: string): Promise<void> {
    const client = await this.#connections.borrow();
    try {
      await this.send(client, { text: this.textOf(text) }, LONG_MS);
      client.release();
    } catch (error) {
      client.release(isRefusal(error) ? undefined : asError(error));
      throw isRefusal(error) ? unavailable(error) : outcomeUnknown(error);
    }
  }

  /** Several statements on one connection, in one transaction, which may take long. @throws unavailable, outcome_unknown - the commit was not answered */
  async transaction<Result>(
    work: (run: (text: string, values?: readonly Value[]) => Promise<readonly Row[]>) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.#connections.borrow();
    let committing = false;
    try {
      await this.send(client, { text: "BEGIN" }, LONG_MS);
      const result = await work((text, values) => {
        // several statements can only be sent without values
        const parameters = values === undefined ? {} : { values: [...values] };
        return this.send(client, { text: this.textOf(text), ...parameters, rowMode: "array", types: asText }, LONG_MS);
      });
      committing = true;
      await this.send(client, { text: "COMMIT" }, LONG_MS);
      client.release();
      return result;
    } catch (error) {
      // a connection in the middle of a transaction is of no use to anybody
      client.release(asError(error));
      if (RheoError.is(error)) throw error;
      throw committing && !isRefusal(error) ? outcomeUnknown(error) : unavailable(error);
    }
  }

  async send(client: ClientLike, query: object, timeoutMs: number = this.#options.statementTimeoutMs): Promise<readonly Row[]> {
    try {
      const { rows } = await client.query({ ...query, query_timeout: timeoutMs });
      return rows as readonly Row[]; // rowMode and types make them arrays of text
    } catch (cause) {
      throw isTooLate(cause) ? new Error(`no answer within ${timeoutMs} ms`, { cause }) : cause;
    }
  }

  /** The same for the same text only, whoever else uses the connection; within the 63 bytes of a name. */
  #nameOf(text: string): string {
    const known = this.#names.get(text) ?? `rheo_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
    this.#names.set(text, known);
    return known;
  }

  #mayRetry({ writes }: Statement, error: unknown, attempt: number): boolean {
    if (isTransient(error)) return attempt < MAX_TRIES;
    // a connection that broke while it was idle shows at its next statement; a read does no harm twice
    return !writes && !isRefusal(error) && attempt < 2;
  }

  #pause(attempt: number): Promise<void> {
    return sleep(this.#random() * PAUSE_MS * 2 ** (attempt - 1));
  }
}

/** The driver has no other sign of it. */
const isTooLate = (error: unknown): boolean => error instanceof Error && error.message === "Query read timeout";

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** The JSON in the only cell of the only row. */
export const jsonOf = (rows: readonly Row[]): Record<string, unknown> => {
  const text = rows[0]?.[0];
  return JSON.parse(text ?? "null") as Record<string, unknown>; // our own functions return objects
};
