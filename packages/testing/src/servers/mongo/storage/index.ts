import type { Doc } from "../values/document.ts";
import { indexKeys } from "./index-keys.ts";
import type { IndexSpec } from "./index-spec.ts";
import type { Row, Version } from "./row.ts";
import { SortedMap } from "./sorted-map.ts";

export interface Entry {
  readonly row: Row;
  readonly version: Version;
}

/** An index over all versions that are kept: who reads looks which one it sees. */
export class Index {
  readonly spec: IndexSpec;
  readonly entries: SortedMap<Entry> = new SortedMap();
  /** Whether a document has had several keys: then its order and two bounds at once are of no use. */
  multikey = false;

  constructor(spec: IndexSpec) {
    this.spec = spec;
  }

  keysOf(doc: Doc): readonly string[] {
    return indexKeys(this.spec, doc);
  }

  add(row: Row, version: Version): void {
    if (version.doc === null) return;
    const keys = this.keysOf(version.doc);
    if (keys.length > 1) this.multikey = true;
    for (const key of keys) this.entries.set(placeOf(key, row, version), { row, version });
  }

  remove(row: Row, version: Version): void {
    if (version.doc === null) return;
    for (const key of this.keysOf(version.doc)) this.entries.delete(placeOf(key, row, version));
  }
}

const placeOf = (key: string, row: Row, version: Version): string => `${key}${row.id}${version.serial}`;
