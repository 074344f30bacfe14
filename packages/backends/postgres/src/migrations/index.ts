/** Forward migrations, in order: number n takes the schema from version n to n + 1. What has been released never changes. */
import { INITIAL } from "./0001-initial.sql.ts";
import { MISSING_EVENTS } from "./0002-missing-events.sql.ts";
import { PAYLOADS_APART } from "./0003-payloads-apart.sql.ts";
import { GRANTS_AS_TEXTS } from "./0004-grants-as-texts.sql.ts";

export const MIGRATIONS: readonly string[] = [INITIAL, MISSING_EVENTS, PAYLOADS_APART, GRANTS_AS_TEXTS];
