/**
 * Filters as conditions of SQLite over its JSON functions. What is made lets through everything that the filter does, and at times more: core looks
 * again at what comes back. So a test that SQLite would read otherwise than core (deep equality, names that its paths cannot spell,
 * NOT of what is inexact) is left out rather than imitated.
 */
import type { Condition, Filter } from "@rheo/core";
import { splitPath } from "@rheo/core/internal";
import type { Value } from "./driver/driver.ts";

/** A condition with its parameters. `isExact`: it means exactly what the filter means, so that it may be negated. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Value[];
  readonly isExact: boolean;
}

/**
 * Part of a condition: `text` is true or false, and may be negated; `plain` may be null in the place of false, and is what an index can
 * serve, as SQLite looks for none inside of IS TRUE.
 */
interface Part extends Sql {
  readonly plain: string;
}

const constant = (text: "1" | "0", isExact: boolean): Part => ({ text, plain: text, values: [], isExact });

/** Left to core. */
const TRUE = constant("1", false);

const ALWAYS = constant("1", true);
const NEVER = constant("0", true);

/** Columns by the root of a path. */
const COLUMNS: Readonly<Record<string, string>> = { id: "id", type: "type", key: "key" };

/** Names that can be written between quotes in a path of SQLite, and between quotes in SQL. An array position looks like one. */
const SPELLABLE = /^(?!\d)[^"'\\\p{Cc}]*$/u;

/** Longer lists are looked through by core: each has a parameter of its own. */
const MAX_LIST = 200;

/** The condition for a filter; "1" when SQLite is of no help. */
export const filterSql = (filter: Filter | null): Sql => {
  const { plain, values, isExact } = filter === null ? ALWAYS : all(filter);
  return { text: plain, values, isExact };
};

/** What an index has to hold to serve tests at a path; null when there is none that can. */
export const indexExpression = (path: string): string | null => operandOf(path)?.text ?? null;

const all = (filter: object): Part =>
  join(
    "AND",
    entriesOf(filter).map(([name, part]) => entry(name, part)),
  );

const entriesOf = (value: object): [string, unknown][] => Object.entries(value).filter(([, part]) => part !== undefined);

/** Of OR, every part has to be known; of AND, those that are not are left to core. */
const join = (word: "AND" | "OR", parts: readonly Part[]): Part => {
  const known = parts.filter((part) => part !== TRUE);
  const isWhole = known.length === parts.length;
  if (known.length === 0 || (word === "OR" && !isWhole)) return parts.length > 0 ? TRUE : word === "AND" ? ALWAYS : NEVER;
  return {
    text: `(${known.map(({ text }) => text).join(` ${word} `)})`,
    plain: `(${known.map(({ plain }) => plain).join(` ${word} `)})`,
    values: known.flatMap(({ values }) => values),
    isExact: isWhole && known.every(({ isExact }) => isExact),
  };
};

const negate = (part: Part): Part => {
  const text = `(NOT ${part.text})`;
  return part.isExact ? { ...part, text, plain: text } : TRUE;
};

const entry = (name: string, part: unknown): Part => {
  if (name === "where") return all(part as object); // as core checked, here and below
  if (name === "not") return negate(all(part as object));
  if (name === "and" || name === "or") return join(name === "and" ? "AND" : "OR", (part as readonly object[]).map(all));
  if (typeof part !== "object" || part === null || Array.isArray(part)) return test(name, "eq", part);
  return join(
    "AND",
    entriesOf(part as Condition).map(([operator, operand]) => test(name, operator, operand)),
  );
};

interface Operand {
  /** The value as SQLite has it: text, a number, 1 or 0 for true and false, text of what is no scalar; null when null or missing. */
  readonly text: string;
  /** Its type: "text", "true", …; null when missing. */
  readonly type: string;
}

const operandOf = (path: string): Operand | null => {
  const [root = "", ...segments] = splitPath(path);
  const column = Object.hasOwn(COLUMNS, root) ? COLUMNS[root] : undefined;
  if (column !== undefined) return { text: column, type: `CASE WHEN ${column} IS NOT NULL THEN 'text' END` };
  if (segments.length === 0 || !segments.every((segment) => segment !== "" && SPELLABLE.test(segment))) return null;
  const place = `'$${segments.map((segment) => `."${segment}"`).join("")}'`;
  return { text: `json_extract(${root}, ${place})`, type: `json_type(${root}, ${place})` };
};

const test = (path: string, operator: string, wanted: unknown): Part => {
  if (operator === "ne") return negate(test(path, "eq", wanted));
  if (operator === "nin") return negate(test(path, "in", wanted));
  const operand = operandOf(path);
  if (operand === null) return TRUE;
  const { text, type } = operand;
  switch (operator) {
    case "exists": {
      const known = `(${type} IS ${wanted === true ? "NOT " : ""}NULL)`;
      return { text: known, plain: known, values: [], isExact: true };
    }
    case "eq":
      return equal(operand, wanted);
    case "in": {
      const items = wanted as readonly unknown[];
      return items.length > MAX_LIST
        ? TRUE
        : join(
            "OR",
            items.map((item) => equal(operand, item)),
          );
    }
    case "startsWith":
      return typeof wanted === "string" && isPlain(wanted)
        ? exactly(`substr(${text}, 1, length(?)) = ? AND ${type} = 'text'`, [wanted, wanted])
        : TRUE;
    default:
      return compared(operand, operator, wanted);
  }
};

const SYMBOLS: Readonly<Record<string, string>> = { gt: ">", gte: ">=", lt: "<", lte: "<=" };

const compared = ({ text, type }: Operand, operator: string, wanted: unknown): Part => {
  const symbol = SYMBOLS[operator];
  if (symbol === undefined) return TRUE;
  if (typeof wanted === "number") return exactly(`${text} ${symbol} ${numeral(wanted)} AND ${type} IN ('integer', 'real')`, []);
  return typeof wanted === "string" && isPlain(wanted) ? exactly(`${text} ${symbol} ? AND ${type} = 'text'`, [wanted]) : TRUE;
};

const equal = ({ text, type }: Operand, wanted: unknown): Part => {
  if (typeof wanted === "string") return isPlain(wanted) ? exactly(`${text} = ? AND ${type} = 'text'`, [wanted]) : TRUE;
  if (typeof wanted === "number") return exactly(`${text} = ${numeral(wanted)} AND ${type} IN ('integer', 'real')`, []);
  if (typeof wanted === "boolean") return exactly(`${type} = '${wanted}'`, []);
  return wanted === null ? exactly(`${type} = 'null'`, []) : TRUE;
};

/** Null, which stands for "missing", is false. */
const exactly = (text: string, values: readonly Value[]): Part => ({
  text: `(${text}) IS TRUE`,
  plain: `(${text})`,
  values,
  isExact: true,
});

/** Written out, since drivers bind large whole numbers as integers of 64 bits, or not at all. */
const numeral = (value: number): string => (Number.isSafeInteger(value) ? String(value) : value.toExponential());

/** Text that SQLite's functions do not end early. */
const isPlain = (text: string): boolean => !text.includes("\u0000");
