import type { Clock, Rheo } from "@rheo/core";
import type { Sampler } from "../sampling/sampler.ts";
import type { Params } from "./params.ts";
import type { Tails } from "./tails.ts";
import type { TreeSource } from "./tree.ts";

/** What views read from. */
export interface Sources {
  readonly rheo: Rheo;
  readonly app: TreeSource | null;
  readonly hasToken: boolean;
  readonly clock: Clock;
  readonly sampler: Sampler;
  readonly tails: Tails;
}

/** One thing that can be looked at: by its name in the URL, as JSON. */
export interface View {
  /** How often it is worth another look, in ms. */
  readonly everyMs: number;
  /** It may read much of a store: only a few such go on at a time. */
  readonly isHeavy: boolean;
  /** Checks what is asked for, and says how to read it. @throws invalid_option, invalid_query */
  prepare(params: Params, sources: Sources): () => Promise<object>;
}
