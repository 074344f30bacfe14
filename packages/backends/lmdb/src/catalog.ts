/** Streams and groups as this process knows them: read once, kept in step by whoever writes, and forgotten when a transaction is rolled back. */
import type { GroupRecord, StreamRecord } from "@rheo/core";
import { groupNotFound, type PartitionState, progress, type StoredStream, streamNotFound } from "@rheo/core/internal";
import type { StoredEvent } from "./block.ts";
import type { Environment } from "./environment.ts";
import { PartState } from "./part-state.ts";
import { findGroupRow, groupsAfter } from "./tables/groups.ts";
import { readMembers } from "./tables/members.ts";
import { findStream, readPartition } from "./tables/streams.ts";

/** Streams, and groups, remembered before all are forgotten. */
const KEPT = 10_000;

/** One stream. */
export class StreamState implements StoredStream {
  readonly streamId: number;
  readonly record: StreamRecord;
  /** The last block of a partition while it is small enough to be filled up; absent when it is not, or not known. */
  readonly tails: Map<number, readonly StoredEvent[]> = new Map();
  readonly groups: Map<string, GroupState> = new Map();
  readonly #environment: Environment;
  readonly #partitions = new Map<number, PartitionState>();

  constructor(environment: Environment, streamId: number, record: StreamRecord) {
    this.#environment = environment;
    this.streamId = streamId;
    this.record = record;
  }

  partition(partition: number): PartitionState {
    const known = this.#partitions.get(partition);
    if (known !== undefined) return known;
    const row = readPartition(this.#environment, this.streamId, partition);
    this.#partitions.set(partition, row);
    return row;
  }

  /** What {@link partition} says from now on. */
  know(row: PartitionState): void {
    this.#partitions.set(row.partition, row);
  }
}

/** One group. */
export class GroupState {
  readonly groupId: number;
  readonly stream: StreamState;
  record: GroupRecord;
  readonly turn: progress.Turn = progress.newTurn();
  readonly #environment: Environment;
  readonly #parts = new Map<number, PartState>();
  #members: Map<string, number> | null = null;

  constructor(environment: Environment, stream: StreamState, groupId: number, record: GroupRecord) {
    this.#environment = environment;
    this.stream = stream;
    this.groupId = groupId;
    this.record = record;
  }

  get partitions(): number {
    return this.stream.record.partitions;
  }

  part(partition: number): PartState {
    const known = this.#parts.get(partition);
    if (known !== undefined) return known;
    const part = new PartState(this.#environment, { groupId: this.groupId, partition });
    this.#parts.set(partition, part);
    return part;
  }

  /** When each member was last noted. */
  get members(): Map<string, number> {
    this.#members ??= readMembers(this.#environment, this.groupId);
    return this.#members;
  }
}

export class Catalog {
  readonly #environment: Environment;
  readonly #streams = new Map<string, StreamState>();
  #groups = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Everything is read anew from now on. */
  forget(): void {
    this.#streams.clear();
    this.#groups = 0;
  }

  forgetStream(name: string): void {
    this.#streams.delete(name);
  }

  stream(name: string): StreamState | null {
    const known = this.#streams.get(name);
    if (known !== undefined) return known;
    const row = findStream(this.#environment, name);
    if (row === null) return null;
    const stream = new StreamState(this.#environment, row.streamId, row.record);
    if (this.#streams.size >= KEPT) this.forget();
    this.#streams.set(name, stream);
    return stream;
  }

  /** @throws stream_not_found */
  requireStream(name: string): StreamState {
    const stream = this.stream(name);
    if (stream === null) throw streamNotFound(name);
    return stream;
  }

  /** The group, or null when it or its stream is gone. */
  group(stream: string, name: string): GroupState | null {
    const found = this.stream(stream);
    return found === null ? null : this.groupOf(found, name);
  }

  groupOf(stream: StreamState, name: string): GroupState | null {
    const known = stream.groups.get(name);
    if (known !== undefined) return known;
    const row = findGroupRow(this.#environment, stream.streamId, stream.record.name, name);
    if (row === null) return null;
    const group = new GroupState(this.#environment, stream, row.groupId, row.record);
    if (this.#groups >= KEPT) this.forget();
    this.#groups += 1;
    stream.groups.set(name, group);
    return group;
  }

  /** @throws stream_not_found, then group_not_found (G5) */
  requireGroup(stream: string, name: string): GroupState {
    const group = this.groupOf(this.requireStream(stream), name);
    if (group === null) throw groupNotFound(stream, name);
    return group;
  }

  /** All groups of a stream. */
  groupsOf(stream: StreamState): GroupState[] {
    const rows = groupsAfter(this.#environment, stream.streamId, stream.record.name, { after: null, limit: ALL });
    return rows.flatMap(({ record }) => this.groupOf(stream, record.name) ?? []);
  }
}

const ALL = Number.MAX_SAFE_INTEGER;
