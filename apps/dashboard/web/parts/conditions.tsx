/** A filter put together by hand: some paths, each compared with a value. */
import type { JSX } from "preact";

export interface Condition {
  readonly path: string;
  readonly operator: Operator;
  readonly value: string;
}

const OPERATORS = {
  eq: "is",
  ne: "is not",
  gt: ">",
  gte: "≥",
  lt: "<",
  lte: "≤",
  startsWith: "starts with",
  exists: "is there",
} as const;
type Operator = keyof typeof OPERATORS;
const isOperator = (name: string): name is Operator => Object.hasOwn(OPERATORS, name);

const MOST = 8;
const NEW: Condition = { path: "payload.", operator: "eq", value: "" };

interface ConditionsProps {
  readonly conditions: readonly Condition[];
  readonly onChange: (conditions: readonly Condition[]) => void;
}

export const Conditions = ({ conditions, onChange }: ConditionsProps): JSX.Element => {
  const change = (at: number, part: Partial<Condition>): void =>
    onChange(conditions.map((condition, index) => (index === at ? { ...condition, ...part } : condition)));
  return (
    <fieldset class="conditions">
      <legend class="sr-only">Conditions on the content</legend>
      {conditions.map(({ path, operator, value }, at) => (
        <div class="condition" key={at}>
          <input
            aria-label={`Path ${at + 1}`}
            value={path}
            placeholder="payload.price"
            onInput={({ currentTarget }) => change(at, { path: currentTarget.value })}
          />
          <select
            aria-label={`Comparison ${at + 1}`}
            value={operator}
            onChange={({ currentTarget }) => isOperator(currentTarget.value) && change(at, { operator: currentTarget.value })}
          >
            {Object.entries(OPERATORS).map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
          {operator !== "exists" && (
            <input
              aria-label={`Value ${at + 1}`}
              value={value}
              placeholder='2.5, "text", true'
              onInput={({ currentTarget }) => change(at, { value: currentTarget.value })}
            />
          )}
          <button
            type="button"
            class="quiet-button"
            aria-label={`Remove condition ${at + 1}`}
            onClick={() => onChange(conditions.filter((_, index) => index !== at))}
          >
            ✕
          </button>
        </div>
      ))}
    </fieldset>
  );
};

/** One more, as long as there are not too many. */
export const AddCondition = ({ conditions, onChange }: ConditionsProps): JSX.Element | null =>
  conditions.length >= MOST ? null : (
    <button type="button" class="quiet-button" onClick={() => onChange([...conditions, NEW])}>
      + Condition on the content
    </button>
  );

/** Conditions as a filter in JSON; null without any. */
export const whereOf = (conditions: readonly Condition[]): string | null => {
  const filters = conditions
    .filter(({ path }) => path !== "" && path !== NEW.path)
    .map(({ path, operator, value }) => ({ [path]: { [operator]: operator === "exists" ? true : parsedOf(value) } }));
  return filters.length === 0 ? null : JSON.stringify({ and: filters });
};

/** What is JSON is that value, and anything else is text: `2` is a number, `"2"` and `two` are texts. */
const parsedOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};

/** The conditions of a filter that {@link whereOf} made; none for another. */
export const conditionsOf = (where: string | null): readonly Condition[] => {
  try {
    const { and } = JSON.parse(where ?? "{}") as { and?: readonly Record<string, Record<string, unknown>>[] }; // whatever it is, what does not fit is left out
    return (and ?? []).flatMap((filter) =>
      Object.entries(filter).flatMap(([path, comparison]) =>
        Object.entries(comparison).flatMap(([operator, value]) =>
          isOperator(operator) ? [{ path, operator, value: textOf(value) }] : [],
        ),
      ),
    );
  } catch {
    return [];
  }
};

const textOf = (value: unknown): string => {
  const isPlain = typeof value === "string" && parsedOf(value) === value;
  return isPlain ? value : JSON.stringify(value);
};
