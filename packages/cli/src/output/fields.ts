import type { Screen } from "./screen.ts";
import { type Column, table } from "./table.ts";

/** Name and value. */
export type Field = readonly [name: string, value: string | number | null];

const COLUMNS: readonly Column<Field>[] = [
  { head: "", value: ([name]) => name, paint: (text, _, { colors }) => colors.dim(text) },
  { head: "", value: ([, value]) => value, yields: "first" },
];

/** One name and value on each line. */
export const fields = (screen: Screen, values: readonly Field[]): string =>
  table(screen, COLUMNS, values).split("\n").slice(1).join("\n");
