/** Something on a server that is there for one measurement: a database of PostgreSQL, or the keys of Redis that begin with a prefix. */
export interface Scratch {
  readonly url: string;
  /** Of the keys; of a database, its name. Lower-case letters, digits and `_` only. */
  readonly name: string;
  readonly drop: () => Promise<void>;
}
