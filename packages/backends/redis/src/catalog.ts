/** Streams as a whole: making, removing and listing them. On a Cluster the list decides, and partitions follow. */
import type { NamePage, StreamRecord } from "@rheo/core";
import { catalogKey, headKey, idsKey } from "./keys.ts";
import { pairsOf } from "./lines.ts";
import { STREAMS } from "./program.ts";
import type { Shards } from "./shards.ts";
import type { Stream } from "./streams.ts";

/** Calls under way at a time while a stream is made or removed. */
const AT_ONCE = 16;

export const createStream = async (
  shards: Shards,
  prefix: string,
  name: string,
  partitions: number,
  random: string,
): Promise<{ stream: StreamRecord; created: boolean }> => {
  const key = catalogKey(prefix);
  const heads = Array.from({ length: partitions }, (_, partition) => headKey(prefix, name, partition));
  for (;;) {
    const keys = shards.isCluster ? [key] : [key, ...heads];
    const answer = await shards.connection.run(STREAMS.create, keys, [name, partitions, random, shards.now]);
    const [text, created] = answer as [string, number]; // our own script wrote it
    const stream = shards.streams.note(name, text);
    if (stream.isGoing) {
      await clear(shards, prefix, stream);
      continue;
    }
    if (shards.isCluster && created === 1)
      await inTurn(stream.heads.map((_, partition) => () => shards.begin(stream, [partition])));
    return { stream: toStream(stream), created: created === 1 };
  }
};

const toStream = ({ name, partitions, createdAtMs }: Stream): StreamRecord => ({ name, partitions, createdAtMs });

export const getStream = async (shards: Shards, name: string): Promise<StreamRecord | null> => {
  const stream = await shards.streams.look(name);
  return stream === null || stream.isGoing ? null : toStream(stream);
};

export const listStreams = async (shards: Shards, prefix: string, { after, limit }: NamePage): Promise<StreamRecord[]> => {
  const answer = await shards.connection.run(STREAMS.list, [catalogKey(prefix)], [after ?? "", limit]);
  return pairsOf<string>(answer as unknown[]).map(([name, text]) => toStream(shards.streams.note(name, text))); // our own script wrote it
};

/** It is gone at once; what it left is cleared after that, page by page, by whoever meets it. False when there was none. */
export const deleteStream = async (shards: Shards, prefix: string, name: string): Promise<boolean> => {
  for (;;) {
    const stream = await shards.streams.look(name);
    if (stream === null) return false;
    if (!stream.isGoing) {
      const keys = shards.isCluster ? [catalogKey(prefix)] : [catalogKey(prefix), ...stream.heads];
      const answer = await shards.connection.run(STREAMS.remove, keys, [name, stream.nonce]);
      const [text, removed] = answer as [string, number]; // our own script wrote it
      shards.streams.forget(name);
      if (text === "") return false;
      if (removed === 0) continue;
    }
    await clear(shards, prefix, stream);
    return !stream.isGoing;
  }
};

/** Removes what is left of a stream. May be done by several at once. */
const clear = async (shards: Shards, prefix: string, stream: Stream): Promise<void> => {
  const { connection, isCluster } = shards;
  const { name, nonce, heads } = stream;
  if (isCluster) {
    // the highest token is noted before anything that knows it is gone (F1)
    const tokens = await inTurn(heads.map((head) => () => connection.run(STREAMS.entomb, [head], [nonce])));
    await connection.run(STREAMS.raiseFloor, [catalogKey(prefix)], [Math.max(...tokens.map(Number))]);
  }
  await inTurn(
    heads.flatMap((head, partition) => [
      () => connection.run(STREAMS.clear, [head], shards.common(stream, "")),
      () => {
        const key = idsKey(prefix, name, partition);
        return connection.run(STREAMS.clearIds, isCluster ? [key] : [key, heads[0] ?? ""], [nonce]);
      },
    ]),
  );
  await connection.run(STREAMS.forget, [catalogKey(prefix)], [name, nonce]);
  shards.streams.forget(name);
};

/** So many at a time. */
const inTurn = async <Result>(steps: readonly (() => Promise<Result>)[]): Promise<Result[]> => {
  const results: Result[] = [];
  for (let at = 0; at < steps.length; at += AT_ONCE)
    results.push(...(await Promise.all(steps.slice(at, at + AT_ONCE).map((step) => step()))));
  return results;
};
