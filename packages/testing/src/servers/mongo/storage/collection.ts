import { Int32, UUID } from "bson";
import type { Doc } from "../values/document.ts";
import { Index } from "./index.ts";
import { type IndexSpec, parseIndex } from "./index-spec.ts";
import { Row, type Version } from "./row.ts";

/** Rows by `_id`, and their indexes. It exists for clients only once something of it was committed. */
export class Collection {
  readonly database: string;
  readonly name: string;
  readonly uuid: UUID = new UUID();
  readonly rows: Map<string, Row> = new Map();
  readonly indexes: Map<string, Index> = new Map();
  exists = false;
  /** When it or its indexes were last changed: older snapshots do not know what is there now. */
  changedAt = 0;
  #serial = 0;

  constructor(database: string, name: string) {
    this.database = database;
    this.name = name;
    this.addIndex(parseIndex({ v: new Int32(2), key: { _id: new Int32(1) }, name: "_id_", unique: true }));
  }

  get namespace(): string {
    return `${this.database}.${this.name}`;
  }

  /** Of documents that are there now. */
  get size(): number {
    let size = 0;
    for (const row of this.rows.values()) if (row.newest?.doc) size++;
    return size;
  }

  addIndex(spec: IndexSpec): Index {
    const index = new Index(spec);
    for (const row of this.rows.values()) for (const version of row.versions) index.add(row, version);
    this.indexes.set(spec.name, index);
    return index;
  }

  rowFor(id: string): Row {
    const found = this.rows.get(id);
    if (found !== undefined) return found;
    const row = new Row(id);
    this.rows.set(id, row);
    return row;
  }

  /** What was committed; older versions stay until they are forgotten. */
  put(row: Row, doc: Doc | null, at: number): void {
    const version: Version = { at, doc, serial: ++this.#serial };
    row.versions.push(version);
    for (const index of this.indexes.values()) index.add(row, version);
  }

  /** Drops versions that no snapshot from `oldest` on can see. */
  forget(row: Row, oldest: number): void {
    const seen = row.visibleAt(oldest);
    while (row.versions[0] !== undefined && row.versions[0] !== seen && row.versions.length > 1 && seen !== null) this.#drop(row);
    if (row.versions.length === 1 && row.versions[0]?.doc === null && row.versions[0].at <= oldest) row.versions.length = 0;
    if (row.versions.length === 0 && row.holder === null) this.rows.delete(row.id);
  }

  #drop(row: Row): void {
    const version = row.versions.shift();
    if (version !== undefined) for (const index of this.indexes.values()) index.remove(row, version);
  }
}
