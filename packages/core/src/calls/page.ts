import type { NamePage } from "../backend.ts";
import { LIMITS } from "../limits.ts";
import { parseNumber, parseOptions, parseText } from "../options.ts";

/** `{ after, limit }` of a listing by name. @throws invalid_option */
export const parsePage = (what: string, options: unknown): NamePage => {
  const raw = parseOptions(what, options, ["after", "limit"]);
  const bounds = { min: 1, max: LIMITS.pageSize, fallback: LIMITS.pageSize };
  return { after: parseText("after", raw.after), limit: parseNumber("limit", raw.limit, bounds) };
};
