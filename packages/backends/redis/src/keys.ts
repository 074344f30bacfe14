/**
 * Names of keys. Everything of one partition of a stream carries its tag in braces, so that it lies in one hash slot; so do the ids of
 * one shard. Names of streams and groups have neither braces nor colons nor slashes (L9), and a prefix has no braces: no two names meet.
 *
 * | key | holds |
 * |---|---|
 * | `<prefix>:{catalog}:streams` | hash: name of a stream → what it is, as JSON |
 * | `<prefix>:{catalog}:names` | sorted set: names of the streams that are there, in order |
 * | `<prefix>:{catalog}:meta` | hash: version of this layout; the highest token of streams that were deleted |
 * | `<prefix>:{<stream>/<partition>}:head` | hash: where the partition stands |
 * | `…:log` | the stream of Redis; entry `<sequence>-0` |
 * | `…:groups` | sorted set: names of groups, in order |
 * | `…:g:<group>` | hash: the group's options, and its progress in this partition |
 * | `…:g:<group>:<kind>` | its leases, exceptions, dead letters and the like |
 * | `…:x:<name>` | sorted set: an index, whose members are value and sequence |
 * | `…:reserved`, `…:voided` | on a Cluster: appends under way |
 * | `<prefix>:{<stream>/ids/<shard>}` | hash: id of an event → partition and sequence |
 */
import { partitionOfKey } from "@rheo/core/internal";

/** Keys of the list of streams. The first is handed to scripts, which find the others. */
export const catalogKey = (prefix: string): string => `${prefix}:{catalog}:streams`;

/** The version of the layout and the like. */
export const metaKey = (prefix: string): string => `${prefix}:{catalog}:meta`;

/** The key of a partition that is handed to scripts, which find the others by its tag. */
export const headKey = (prefix: string, stream: string, partition: number): string => `${prefix}:{${stream}/${partition}}:head`;

/** Where the ids of a shard are. */
export const idsKey = (prefix: string, stream: string, shard: number): string => `${prefix}:{${stream}/ids/${shard}}`;

/** The shard of an id: there are as many as partitions. */
export const shardOf = (id: string, partitions: number): number => partitionOfKey(id, partitions);
