/** Runs in the thread of module hooks: replaces the text of one file as it is loaded. */
import type { InitializeHook, LoadHook } from "node:module";
import type { SourceMutant } from "./mutant.ts";
import { plant } from "./plant.ts";
import { urlOf } from "./root.ts";

let mutant: SourceMutant | null = null;

export const initialize: InitializeHook<SourceMutant> = (data) => {
  mutant = data;
};

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (mutant === null || url.split("?")[0] !== urlOf(mutant.file) || loaded.source == null) return loaded;
  const source = typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source);
  return { ...loaded, source: plant(source, mutant) };
};
