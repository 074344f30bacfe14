/**
 * Running scripts on partitions. On a single server one call is given all partitions of a stream, so that what it does is one step. On a
 * Cluster, where each partition is in a slot of its own, there is a call for each; what somebody left half done, because it needed several, is
 * completed here by whoever meets it.
 */
import { type ResolvedGroupOptions, RheoError } from "@rheo/core";
import { groupNotFound, streamNotFound } from "@rheo/core/internal";
import type { Argument, Connection, Script } from "./connection.ts";
import { copyArguments, optionArguments, type Written } from "./group-record.ts";
import { GROUPS, STREAMS } from "./program.ts";
import type { Stream, Streams } from "./streams.ts";

/** What a script answered for some partitions of a stream, which it knows by their places in this list. */
export interface Part {
  readonly stream: Stream;
  readonly partitions: readonly number[];
  /** "ok" or what is missing, then the rest. */
  readonly answer: readonly unknown[];
}

/** The arguments of a script for some partitions. */
export type ArgumentsOf = (partitions: readonly number[], stream: Stream) => readonly Argument[];

/** How often what is known of a stream is corrected during one call. */
const MAX_CORRECTIONS = 8;

export class Shards {
  readonly connection: Connection;
  readonly streams: Streams;
  readonly #nowMs: () => number | null;

  /** `nowMs`: the time that replaces the server's, or null. */
  constructor(connection: Connection, streams: Streams, nowMs: () => number | null) {
    this.connection = connection;
    this.streams = streams;
    this.#nowMs = nowMs;
  }

  get isCluster(): boolean {
    return this.connection.isCluster;
  }

  /** The time as an argument; empty: the server's. */
  get now(): string {
    return String(this.#nowMs() ?? "");
  }

  /** On all partitions: one part on a single server, one for each partition on a Cluster. @throws stream_not_found */
  async all(script: Script, name: string, group: string, argumentsOf: ArgumentsOf): Promise<readonly Part[]> {
    return this.each(script, name, group, null, argumentsOf);
  }

  /** On one partition. @throws stream_not_found */
  async one(script: Script, name: string, partition: number, group: string, args: readonly Argument[]): Promise<Part> {
    const [part] = await this.each(script, name, group, [[partition]], () => args);
    if (part === undefined) throw streamNotFound(name);
    return part;
  }

  /** On lists of partitions, each in a call of its own; null: see `all`. @throws stream_not_found */
  async each(
    script: Script,
    name: string,
    group: string,
    lists: readonly (readonly number[])[] | null,
    argumentsOf: ArgumentsOf,
  ): Promise<readonly Part[]> {
    const done = new Map<number, Part>();
    for (let correction = 0; correction < MAX_CORRECTIONS; correction++) {
      const stream = await this.streams.find(name);
      const wanted = lists ?? this.#allOf(stream);
      const run = wanted.map(async (partitions, at) => {
        const known = done.get(at);
        if (known !== undefined && known.stream.nonce === stream.nonce) return known;
        const part = await this.run(script, stream, partitions, group, argumentsOf(partitions, stream));
        if (!isMissing(part)) done.set(at, part);
        return part;
      });
      const parts = await Promise.all(run);
      if (!parts.some(isMissing)) return this.#withGroup(script, parts, group, argumentsOf);
      await this.#correct(stream, parts);
    }
    throw new RheoError("unavailable", `Redis: stream "${name}" is being removed and made again.`, { stream: name });
  }

  /** A script on partitions of one slot. */
  async run(
    script: Script,
    stream: Stream,
    partitions: readonly number[],
    group: string,
    args: readonly Argument[],
  ): Promise<Part> {
    const keys = partitions.length === stream.heads.length ? stream.heads : partitions.map((at) => stream.heads[at] ?? "");
    const answer = await this.connection.run(script, keys, [...this.common(stream, group), ...args]);
    return { stream, partitions, answer: answer as unknown[] }; // our own scripts answer lists
  }

  /** What the arguments of scripts on partitions begin with. */
  common(stream: Stream, group: string): Argument[] {
    return [stream.nonce, this.now, group, this.isCluster ? "1" : ""];
  }

  /** Makes partitions of a Cluster that are not there yet. */
  async begin(stream: Stream, partitions: readonly number[]): Promise<void> {
    await Promise.all(
      partitions.map((partition) => this.run(STREAMS.init, stream, [partition], "", [stream.partitions, stream.floor])),
    );
  }

  /** The group as partition 0 of a Cluster has it, which decides; null when it is not there. */
  async decided(stream: Stream, group: string): Promise<Written | null> {
    const { answer } = await this.run(GROUPS.read, stream, [0], group, []);
    return answer[0] === "ok" ? (answer[1] as Written) : null; // our own script wrote it
  }

  /** Brings options in a partition of a Cluster up to date with what partition 0 has decided. */
  async follow(stream: Stream, group: string, partition: number): Promise<void> {
    const decided = await this.decided(stream, group);
    if (decided === null) return;
    const [options, paused, , version] = decided;
    const change = optionArguments(JSON.parse(options) as ResolvedGroupOptions); // written by updateGroup only
    await this.run(GROUPS.update, stream, [partition], group, [...change, paused, version]);
  }

  #allOf(stream: Stream): readonly (readonly number[])[] {
    const all = stream.heads.map((_, partition) => partition);
    return this.isCluster ? all.map((partition) => [partition]) : [all];
  }

  /** What was known of the stream is not so, or it was not made everywhere yet. */
  async #correct(stream: Stream, parts: readonly Part[]): Promise<void> {
    this.streams.forget(stream.name);
    if (!this.isCluster) return;
    const found = await this.streams.look(stream.name);
    if (found === null || found.isGoing || found.nonce !== stream.nonce) return;
    await this.begin(
      found,
      parts.flatMap((part) => (part.answer[0] === "stream" ? part.partitions : [])),
    );
  }

  /** Where a Cluster's partition 0 has a group, others have it: or somebody did not get to make it there. */
  async #withGroup(script: Script, parts: readonly Part[], group: string, argumentsOf: ArgumentsOf): Promise<readonly Part[]> {
    if (!this.isCluster || parts.every(({ answer, partitions }) => answer[0] !== "group" || partitions[0] === 0)) return parts;
    const [first] = parts;
    const decided = first === undefined ? null : await this.decided(first.stream, group);
    if (decided === null) return parts.map((part) => ({ ...part, answer: ["group"] }));
    return Promise.all(
      parts.map(async (part) => {
        if (part.answer[0] !== "group" || part.partitions[0] === 0) return part;
        await this.run(GROUPS.create, part.stream, part.partitions, group, copyArguments(decided, part.partitions));
        return this.run(script, part.stream, part.partitions, group, argumentsOf(part.partitions, part.stream));
      }),
    );
  }
}

const isMissing = ({ answer: [state] }: Part): boolean => state === "stream" || state === "other";

/** @throws group_not_found */
export const checkGroup = (parts: readonly Part[], stream: string, group: string): void => {
  if (parts.some(({ answer }) => answer[0] === "group")) throw groupNotFound(stream, group);
};

/** Places of these partitions among those of a part: `,0,2,`, or empty for all. */
export const placesOf = (wanted: readonly number[] | null, partitions: readonly number[]): string => {
  if (wanted === null) return "";
  return `,${partitions.flatMap((partition, place) => (wanted.includes(partition) ? [place] : [])).join(",")},`;
};
