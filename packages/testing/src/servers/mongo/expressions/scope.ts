/** What an expression can see: the document, variables, the time. */
import { type Doc, isNumeric, toNumber } from "../values/document.ts";

export class Scope {
  readonly now: Date;
  readonly #root: unknown;
  readonly #variables: ReadonlyMap<string, unknown>;

  constructor(now: Date, root?: unknown, variables: ReadonlyMap<string, unknown> = new Map()) {
    this.now = now;
    this.#root = root;
    this.#variables = variables;
  }

  get root(): unknown {
    return this.#root;
  }

  /** The same for another document. */
  of(root: Doc): Scope {
    return new Scope(this.now, root, this.#variables);
  }

  with(variables: Readonly<Record<string, unknown>>): Scope {
    return new Scope(this.now, this.#root, new Map([...this.#variables, ...Object.entries(variables)]));
  }

  has(name: string): boolean {
    return this.#variables.has(name);
  }

  variable(name: string): unknown {
    return this.#variables.get(name);
  }
}

/** False are false, null, missing and zero. */
export const toTruth = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && !(isNumeric(value) && toNumber(value) === 0);
