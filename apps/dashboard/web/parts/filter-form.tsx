import type { JSX, TargetedInputEvent } from "preact";
import { useState } from "preact/hooks";
import { goTo, route, withQuery } from "../state/route.ts";
import { AddCondition, type Condition, Conditions, conditionsOf, whereOf } from "./conditions.tsx";

export interface Field {
  /** Of the part of the address that it fills. */
  readonly name: string;
  readonly label: string;
  /** `search`: where `/` leads. Default: a text. */
  readonly kind?: "number" | "time" | "search";
}

/** Fields and conditions that make up the query of the address. What is in the address is what is shown. */
export const FilterForm = ({ fields }: { readonly fields: readonly Field[] }): JSX.Element => {
  const { query } = route.value;
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(fields.map(({ name }) => [name, query.get(name) ?? ""])),
  );
  const [conditions, setConditions] = useState<readonly Condition[]>(() => conditionsOf(query.get("where")));
  const apply = (event: SubmitEvent): void => {
    event.preventDefault();
    goTo(withQuery({ ...values, where: whereOf(conditions), after: null, cursor: null }));
  };
  const clear = (): void => {
    const none = Object.fromEntries(fields.map(({ name }) => [name, ""]));
    setValues(none);
    setConditions([]);
    goTo(withQuery({ ...none, where: null, after: null, cursor: null }));
  };
  const isUsed = conditions.length > 0 || Object.values(values).some((value) => value !== "");
  return (
    <form class="filter" onSubmit={apply}>
      <div class="fields">
        {fields.map((field) => (
          <div class="field" key={field.name}>
            <label for={`field-${field.name}`}>{field.label}</label>
            <FieldInput
              field={field}
              value={values[field.name] ?? ""}
              onInput={(value) => setValues({ ...values, [field.name]: value })}
            />
          </div>
        ))}
      </div>
      {conditions.length > 0 && <Conditions conditions={conditions} onChange={setConditions} />}
      <div class="actions">
        <button type="submit">Find</button>
        <AddCondition conditions={conditions} onChange={setConditions} />
        {isUsed && (
          <button type="button" class="quiet-button" onClick={clear}>
            Clear
          </button>
        )}
      </div>
    </form>
  );
};

interface FieldInputProps {
  readonly field: Field;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

const FieldInput = ({ field: { name, kind }, value, onInput }: FieldInputProps): JSX.Element => {
  const shared = {
    id: `field-${name}`,
    value,
    onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement>) => onInput(currentTarget.value),
  };
  switch (kind) {
    case "number":
      return <input type="number" min={0} {...shared} />;
    case "time":
      return <input type="datetime-local" step={1} {...shared} />;
    case "search":
      return <input type="search" {...shared} />;
    case undefined:
      return <input type="text" {...shared} />;
    default:
      return kind satisfies never;
  }
};
