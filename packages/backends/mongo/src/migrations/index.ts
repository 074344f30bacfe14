import type { Database } from "../database.ts";
import { initial } from "./0001-initial.ts";

/** In order; the schema's version is how many of them have run. Each may run twice, also at the same time. */
export const migrations: readonly ((database: Database) => Promise<void>)[] = [initial];
