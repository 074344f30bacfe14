import { RheoError } from "./errors.ts";
import { LIMITS } from "./limits.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * Checks a stream, group or consumer name, prefix or schema (L9): 1–120 characters of `A–Z a–z 0–9 . _ -`, starting with a
 * letter or digit. Returns it unchanged; nothing is ever truncated or folded.
 * @throws invalid_name
 */
export const parseName = (kind: "stream" | "group" | "consumer" | "instance" | "prefix" | "schema", value: unknown): string => {
  if (typeof value === "string" && value.length <= LIMITS.nameLength && NAME.test(value)) return value;
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : `a ${value === null ? "null" : typeof value}`;
  throw new RheoError(
    "invalid_name",
    `A ${kind} name has 1–${LIMITS.nameLength} characters of A–Z a–z 0–9 . _ - and starts with a letter or digit; got ${shown}.`,
  );
};
