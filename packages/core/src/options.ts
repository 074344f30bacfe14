import { RheoError } from "./errors.ts";

/** What was given, as text: never fails, whatever it is. */
export const show = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (typeof value === "function") return "a function";
  return typeof value === "object" && value !== null ? "an object" : String(value);
};

/** What `read` gives. What the caller's own value throws when it is looked at is a fault of that value. @throws as `failure` makes it */
export const readable = <Result>(read: () => Result, failure: (cause: unknown) => RheoError): Result => {
  try {
    return read();
  } catch (cause) {
    throw RheoError.is(cause) ? cause : failure(cause);
  }
};

export const unreadable = (what: string, cause: unknown): RheoError =>
  new RheoError(
    "invalid_option",
    `${what}: what was given cannot be read; it threw when it was looked at.`,
    { path: what },
    { cause },
  );

/** An options object with only known names, or `invalid_option` that lists them. Absent means empty. */
export const parseOptions = <Name extends string>(
  what: string,
  value: unknown,
  names: readonly Name[],
): Partial<Record<Name, unknown>> => {
  if (value === undefined) return {};
  return readable(
    () => readOptions(what, value, names),
    (cause) => unreadable(what, cause),
  );
};

/** A copy, so that each option is read once, and cannot be another when it is looked at again. */
const readOptions = <Name extends string>(
  what: string,
  value: unknown,
  names: readonly Name[],
): Partial<Record<Name, unknown>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RheoError("invalid_option", `${what}: an object of options is expected, not ${show(value)}.`);
  }
  const known: readonly string[] = names; // few: looking through them costs less than a set of them
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) {
      const shown = name.slice(0, 60).toWellFormed();
      throw new RheoError("invalid_option", `${what}: unknown option "${shown}". Known: ${names.join(", ") || "none"}.`, {
        path: shown,
      });
    }
  }
  const options: Partial<Record<Name, unknown>> = {};
  for (const name of names) if (name in value) options[name] = (value as Partial<Record<Name, unknown>>)[name];
  return options;
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
  const ms = readable(
    () => (value instanceof Date ? value.getTime() : Number.NaN),
    (cause) => unreadable(what, cause),
  );
  if (Number.isFinite(ms)) return ms;
  throw new RheoError("invalid_option", `${what} is a valid Date; got ${show(value)}.`, { path: what });
};

/** `{ confirm: true }` on what destroys. @throws confirm_required */
export const requireConfirm = (what: string, value: unknown): void => {
  if (value !== true) throw new RheoError("confirm_required", `${what} cannot be undone. Pass { confirm: true } if you mean it.`);
};

/** @throws invalid_option */
export const parseSignal = (value: unknown): AbortSignal | undefined => {
  if (value === undefined || isSignal(value)) return value;
  throw new RheoError("invalid_option", `signal is an AbortSignal; got ${show(value)}.`, { path: "signal" });
};

/** Not one by its prototype alone: that could not be asked anything. */
const isSignal = (value: unknown): value is AbortSignal =>
  readable(
    () => value instanceof AbortSignal && typeof value.aborted === "boolean",
    (cause) => unreadable("signal", cause),
  );

/** How long a list is. @throws invalid_option */
export const lengthOf = (what: string, value: unknown): number =>
  readable(
    () => {
      if (Array.isArray(value)) return value.length;
      throw new RheoError("invalid_option", `${what} is a list; got ${show(value)}.`, { path: what });
    },
    (cause) => unreadable(what, cause),
  );

/** A list of at least `min` and at most `max` items, as a copy without holes. @throws invalid_option */
export const parseList = (what: string, value: unknown, { min, max }: { min: number; max: number }): unknown[] =>
  readable(
    () => {
      if (Array.isArray(value) && value.length >= min && value.length <= max) return Array.from(value as unknown[]);
      throw new RheoError("invalid_option", `${what} is a list of ${min} to ${max} items; got ${show(value)}.`, { path: what });
    },
    (cause) => unreadable(what, cause),
  );

/** Of several ways to say something, one. @throws invalid_option */
export const parseExactlyOne = (what: string, raw: object, names: readonly string[]): void => {
  if (names.filter((name) => Reflect.get(raw, name) !== undefined).length === 1) return;
  throw new RheoError("invalid_option", `${what}: give exactly one of ${names.join(", ")}.`);
};
