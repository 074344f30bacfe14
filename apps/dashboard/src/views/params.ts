import { RheoError } from "@rheo/core";

/** More than the longest cursor, less than what servers take as a URL. */
const MOST_CHARACTERS = 15_000;

/** The query of a URL, each part checked as it is asked for. Parts that nobody asks for are refused. */
export class Params {
  readonly #given: URLSearchParams;
  readonly #asked = new Set<string>();

  /** @throws invalid_option - too long, or a part given twice */
  constructor(given: URLSearchParams) {
    this.#given = given;
    if (given.toString().length > MOST_CHARACTERS) throw invalid("query", `longer than ${MOST_CHARACTERS} characters.`);
    for (const name of given.keys()) if (given.getAll(name).length > 1) throw invalid(name, "given twice.");
  }

  /** Null when absent or empty. */
  text(name: string): string | null {
    this.#asked.add(name);
    return this.#given.get(name) || null;
  }

  /** @throws invalid_option */
  required(name: string): string {
    return this.text(name) ?? fail(name, "missing.");
  }

  /** A whole number. @throws invalid_option */
  number(name: string, bounds: { readonly min: number; readonly max: number }): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    return number >= bounds.min && number <= bounds.max
      ? number
      : fail(name, `a whole number from ${bounds.min} to ${bounds.max} is expected.`);
  }

  /** @throws invalid_option */
  choice<Choice extends string>(name: string, choices: readonly Choice[], fallback: Choice): Choice {
    const text = this.text(name);
    if (text === null) return fallback;
    return choices.find((choice) => choice === text) ?? fail(name, `one of ${choices.join(", ")} is expected.`);
  }

  /** An instant in any form that Date reads. @throws invalid_option */
  date(name: string): Date | null {
    const text = this.text(name);
    if (text === null) return null;
    const date = new Date(text);
    return Number.isFinite(date.getTime()) ? date : fail(name, "a time such as 2026-01-31T09:30:00Z is expected.");
  }

  /** @throws invalid_option */
  json(name: string): unknown {
    const text = this.text(name);
    if (text === null) return null;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return fail(name, "JSON is expected.");
    }
  }

  /** @throws invalid_option - there are parts that were not asked for */
  end(): void {
    for (const name of this.#given.keys()) {
      if (!this.#asked.has(name)) throw invalid(name, `unknown here. Known: ${[...this.#asked].join(", ") || "none"}.`);
    }
  }
}

const invalid = (name: string, problem: string): RheoError =>
  new RheoError("invalid_option", `${name}: ${problem}`, { path: name });

const fail = (name: string, problem: string): never => {
  throw invalid(name, problem);
};
