/** A wrong version of the real code: a text of one compiled file, put in place of another as the file is loaded. */

/** The stores whose contract can be asked. */
export type StoreName = "memory" | "sqlite" | "postgres" | "redis";

/** What is to notice a mutant. Cheapest first: the contract in this process, the simulation, storms and models, a test file. */
export type Killer =
  | {
      readonly by: "contract";
      readonly on: StoreName /** Rules whose cases are asked; or parts of the titles of cases. */;
      readonly cases: readonly string[];
    }
  | { readonly by: "simulation" /** Seeds 1 to this are tried. */; readonly seeds: number }
  | { readonly by: "storm"; readonly on: StoreName; readonly seeds: number }
  | { readonly by: "model"; readonly on: StoreName; readonly runs: number }
  | {
      readonly by: "test" /** Path from the root. */;
      readonly file: string /** The whole name of the test, or its beginning. */;
      readonly test: string;
    };

export interface SourceMutant {
  /** In kebab-case. */
  readonly name: string;
  /** What goes wrong, in one sentence. */
  readonly fault: string;
  /** The compiled file, from the root. */
  readonly file: string;
  /** Found exactly once in it. */
  readonly find: string;
  readonly replace: string;
  readonly killer: Killer;
}
