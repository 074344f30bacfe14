/**
 * Groups that have nothing at all: no backlog, nothing in flight, nothing that waits for its time. Then only a write can give them something, and
 * until there was one a poll of theirs is answered without looking.
 */
import type { Sql } from "./sql.ts";

/** Groups remembered before all are forgotten. */
const GROUPS_KEPT = 10_000;

/** A number that changes with each commit of another connection. */
const OTHERS = "PRAGMA data_version";
/** The rows that this one has changed. */
const OWN = "SELECT total_changes()";

export class Quiet {
  readonly #groups = new Set<string>();
  #written = "";

  /** Whether the group had nothing, and nothing was written since. */
  has(sql: Sql, stream: string, group: string): boolean {
    const written = [OTHERS, OWN].map((query) => String(sql.get(query)?.[0])).join(" ");
    if (written !== this.#written) this.#groups.clear();
    this.#written = written;
    return this.#groups.has(keyOf(stream, group));
  }

  /** The group was found to have nothing by somebody who had asked {@link has} before, and has written nothing. */
  add(stream: string, group: string): void {
    if (this.#groups.size >= GROUPS_KEPT) this.#groups.clear();
    this.#groups.add(keyOf(stream, group));
  }
}

/** Names have no space in them. */
const keyOf = (stream: string, group: string): string => `${stream} ${group}`;
