import type { Doc } from "../values/document.ts";
import type { Transaction } from "./transaction.ts";

/** What a document was from one commit on; `doc` is null from its deletion on. */
export interface Version {
  readonly at: number;
  readonly doc: Doc | null;
  /** Sets apart versions whose index keys are the same. */
  readonly serial: number;
}

/** All versions of one `_id` that an open snapshot may still see, the newest last. */
export class Row {
  readonly id: string;
  readonly versions: Version[] = [];
  /** The transaction that has written it and is not over. */
  holder: Transaction | null = null;

  constructor(id: string) {
    this.id = id;
  }

  get newest(): Version | null {
    return this.versions.at(-1) ?? null;
  }

  visibleAt(snapshot: number): Version | null {
    for (let n = this.versions.length - 1; n >= 0; n--) {
      const version = this.versions[n];
      if (version !== undefined && version.at <= snapshot) return version;
    }
    return null;
  }
}
