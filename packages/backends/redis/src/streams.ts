/** Streams as this process knows them. What is known may be out of date: scripts tell by the nonce. */
import { RheoError, type StreamRecord } from "@rheo/core";
import { LIMITS, streamNotFound } from "@rheo/core/internal";
import type { Connection } from "./connection.ts";
import { catalogKey, headKey } from "./keys.ts";

export interface Stream extends StreamRecord {
  /** Tells it from others of its name that were removed before it was made. */
  readonly nonce: string;
  /** Tokens of groups begin above it (F1). */
  readonly floor: string;
  /** It is being removed: for everybody but those who finish that it is not there. */
  readonly isGoing: boolean;
  /** By partition: what is handed to scripts. */
  readonly heads: readonly string[];
}

/** Streams remembered; one that is not is looked up. */
const KEPT = 10_000;

export class Streams {
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #known = new Map<string, Stream>();

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  /** What is known, or looked up. @throws stream_not_found */
  async find(name: string): Promise<Stream> {
    const stream = this.#known.get(name) ?? (await this.look(name));
    if (stream === null || stream.isGoing) throw streamNotFound(name);
    return stream;
  }

  /** Looks it up. */
  async look(name: string): Promise<Stream | null> {
    const text = await this.#connection.call("hget", catalogKey(this.#prefix), name);
    return typeof text === "string" ? this.note(name, text) : this.forget(name);
  }

  /** Remembers what the catalog says. */
  note(name: string, text: string): Stream {
    const { partitions, nonce, created, floor, state } = written(name, text);
    const heads = Array.from({ length: partitions }, (_, partition) => headKey(this.#prefix, name, partition));
    const stream = { name, partitions, nonce, floor, createdAtMs: Number(created), isGoing: state !== "live", heads };
    if (this.#known.size >= KEPT) this.#known.clear();
    if (stream.isGoing) this.#known.delete(name);
    else this.#known.set(name, stream);
    return stream;
  }

  forget(name: string): null {
    this.#known.delete(name);
    return null;
  }
}

/** @throws unavailable - what is there is not what any version of this package writes */
const written = (name: string, text: string): Written => {
  try {
    const { partitions, ...rest } = JSON.parse(text) as Written; // looked at below
    if (Number.isInteger(partitions) && partitions >= 1 && partitions <= LIMITS.partitions) return { partitions, ...rest };
    throw new TypeError(`partitions: ${String(partitions)}`);
  } catch (cause) {
    throw new RheoError(
      "unavailable",
      `The catalog's entry of stream "${name}" is damaged: ${text.slice(0, SHOWN)}. Mend it, or remove the stream.`,
      { stream: name },
      { cause },
    );
  }
};

/** How much of a damaged entry is shown. */
const SHOWN = 200;

/** See `catalog.lua.ts`. */
interface Written {
  readonly partitions: number;
  readonly nonce: string;
  readonly created: string;
  readonly floor: string;
  readonly state: "live" | "going";
}
