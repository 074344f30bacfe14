/** For `node --import`: plants the mutant that RHEO_MUTANT names. Worker threads inherit it. */
import { register } from "node:module";
import { chosenMutant } from "./environment.ts";
import { mutantNamed } from "./source-mutants.ts";

const name = chosenMutant();
if (name !== null) register("./hooks.js", import.meta.url, { data: mutantNamed(name) });
