import { RheoError } from "./errors.ts";

const show = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  return typeof value === "object" && value !== null ? "an object" : String(value);
};

/** An options object with only known names, or `invalid_option` that lists them. Absent means empty. */
export const parseOptions = <Name extends string>(
  what: string,
  value: unknown,
  names: readonly Name[],
): Partial<Record<Name, unknown>> => {
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RheoError("invalid_option", `${what}: an object of options is expected, not ${show(value)}.`);
  }
  const known: ReadonlySet<string> = new Set(names);
  for (const name of Object.keys(value)) {
    if (!known.has(name)) {
      throw new RheoError("invalid_option", `${what}: unknown option "${name}". Known: ${names.join(", ") || "none"}.`, {
        path: name,
      });
    }
  }
  return value as Partial<Record<Name, unknown>>; // every own name was checked above
};

/** A finite number in a range (whole unless `integer: false`), or the fallback when absent. @throws invalid_option */
export const parseNumber = (
  what: string,
  value: unknown,
  bounds: { min: number; max: number; fallback?: number; integer?: boolean },
): number => {
  const given = value === undefined ? bounds.fallback : value;
  const fits =
    typeof given === "number" &&
    given >= bounds.min &&
    given <= bounds.max &&
    (bounds.integer === false || Number.isSafeInteger(given));
  if (fits) return given;
  const kind = bounds.integer === false ? "a number" : "a whole number";
  throw new RheoError("invalid_option", `${what} is ${kind} from ${bounds.min} to ${bounds.max}; got ${show(value)}.`, {
    path: what,
  });
};

/** One of the given words, or the fallback when absent. @throws invalid_option */
export const parseChoice = <Choice extends string>(
  what: string,
  value: unknown,
  choices: readonly Choice[],
  fallback: Choice,
): Choice => {
  if (value === undefined) return fallback;
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw new RheoError("invalid_option", `${what} is one of ${choices.join(", ")}; got ${show(value)}.`, { path: what });
};

/** @throws invalid_option */
export const parseBoolean = (what: string, value: unknown, fallback: boolean): boolean => {
  if (value === undefined) return fallback;
  if (typeof value === "boolean") return value;
  throw new RheoError("invalid_option", `${what} is true or false; got ${show(value)}.`, { path: what });
};

/** A string, or null when absent or null. @throws invalid_option */
export const parseText = (what: string, value: unknown): string | null => {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value;
  throw new RheoError("invalid_option", `${what} is a string; got ${show(value)}.`, { path: what });
};

/** A valid Date as ms since the epoch, or null when absent. @throws invalid_option */
export const parseDate = (what: string, value: unknown): number | null => {
  if (value === undefined) return null;
  if (value instanceof Date && Number.isFinite(value.getTime())) return value.getTime();
  throw new RheoError("invalid_option", `${what} is a valid Date; got ${show(value)}.`, { path: what });
};

/** `{ confirm: true }` on what destroys. @throws confirm_required */
export const requireConfirm = (what: string, value: unknown): void => {
  if (value !== true) throw new RheoError("confirm_required", `${what} cannot be undone. Pass { confirm: true } if you mean it.`);
};

/** @throws invalid_option */
export const parseSignal = (value: unknown): AbortSignal | undefined => {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw new RheoError("invalid_option", `signal is an AbortSignal; got ${show(value)}.`, { path: "signal" });
};

/** Of several ways to say something, one. @throws invalid_option */
export const parseExactlyOne = (what: string, raw: object, names: readonly string[]): void => {
  if (names.filter((name) => Reflect.get(raw, name) !== undefined).length === 1) return;
  throw new RheoError("invalid_option", `${what}: give exactly one of ${names.join(", ")}.`);
};
