import type { Appender } from "../appender.ts";
import type { Backend, GroupRecord } from "../backend.ts";
import type { Clock } from "../clock.ts";
import { RheoError, streamNotFound } from "../errors.ts";
import type { Emit, Hears } from "../events.ts";
import type { ResolvedGroupOptions } from "../group.ts";
import { parseName } from "../names.ts";
import { type StreamRef, streamName } from "../schema.ts";
import type { Waiting } from "../waiting.ts";

/** A stream of whatever payload, where only its name matters. */
export type AnyStream = StreamRef<unknown, unknown>;

/** How long a group's options may be remembered, in ms: a retry policy changed elsewhere takes hold within this. */
export const GROUP_MEMORY_MS = 5_000;

/** What the calls of one instance share. */
export class Context {
  readonly name: string;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly random: () => number;
  readonly emit: Emit;
  readonly hears: Hears;
  readonly defaults: ResolvedGroupOptions;
  readonly appender: Appender;
  readonly waiting: Waiting;
  /** The member that fetches where no other is named. */
  readonly consumerId: string;
  closed = false;
  readonly #groups = new Map<string, { readonly record: GroupRecord; readonly untilMs: number }>();

  constructor(
    parts: Pick<
      Context,
      "name" | "backend" | "clock" | "random" | "emit" | "hears" | "defaults" | "appender" | "waiting" | "consumerId"
    >,
  ) {
    this.name = parts.name;
    this.backend = parts.backend;
    this.clock = parts.clock;
    this.random = parts.random;
    this.emit = parts.emit;
    this.hears = parts.hears;
    this.defaults = parts.defaults;
    this.appender = parts.appender;
    this.waiting = parts.waiting;
    this.consumerId = parts.consumerId;
  }

  /** @throws closed */
  check(): void {
    if (this.closed) throw new RheoError("closed", `This Rheo ("${this.name}") is closed. Open a new one.`);
  }

  /** The name of a stream; checks that the instance is open. @throws closed, invalid_name */
  nameOf(stream: AnyStream): string {
    this.check();
    return streamName(stream);
  }

  /** The same for a group of it, whose name is checked too. @throws closed, invalid_name */
  streamOf(stream: AnyStream, group: string): string {
    const name = this.nameOf(stream);
    parseName("group", group);
    return name;
  }

  /** How many partitions a stream has now. @throws stream_not_found */
  async partitionsOf(stream: string): Promise<number> {
    const record = await this.backend.getStream(stream);
    if (record === null) throw streamNotFound(stream);
    return record.partitions;
  }

  /** The group, read at most once in a few seconds. @throws stream_not_found, group_not_found */
  async groupOf(stream: string, group: string): Promise<GroupRecord> {
    const name = `${stream}/${group}`;
    const nowMs = this.clock.monotonic();
    const known = this.#groups.get(name);
    if (known !== undefined && known.untilMs > nowMs) return known.record;
    const record = await this.backend.getGroup(stream, group);
    this.#groups.set(name, { record, untilMs: nowMs + GROUP_MEMORY_MS });
    return record;
  }

  /** Forgets what was remembered of groups that changed. */
  forgetGroups(): void {
    this.#groups.clear();
  }

  /** @throws unsupported */
  checkTransaction(transaction: unknown): void {
    if (transaction === undefined || this.backend.capabilities.transactions) return;
    throw new RheoError(
      "unsupported",
      `The ${this.backend.name} backend cannot take part in a transaction of yours (T8). Settle without one, and make the effect idempotent.`,
    );
  }
}
