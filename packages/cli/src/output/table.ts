/** Tables that fit the terminal. What stands in them is made inert here, so that nobody else need think of it. */
import { inert } from "./inert.ts";
import type { Screen } from "./screen.ts";
import { cutTo, widthOf } from "./width.ts";

export interface Column<Row> {
  readonly head: string;
  readonly value: (row: Row) => string | number | null;
  /** Default "left". */
  readonly align?: "left" | "right";
  /** Gives way when the terminal is narrow: "first", such as a payload, or "next"; what is copied from, such as an id, last. */
  readonly yields?: "first" | "next";
  /** Colours a value. */
  readonly paint?: (text: string, row: Row, screen: Screen) => string;
}

const GAP = "  ";
/** What yields is not made narrower than this while others have more than they need, and these not narrower than that. */
const YIELDED_WIDTH = 12;
const LEAST_WIDTH = 6;

/** The rows below their heads; without rows the heads alone. Lines end without spaces. */
export const table = <Row>(screen: Screen, columns: readonly Column<Row>[], rows: readonly Row[]): string => {
  const texts = rows.map((row) => columns.map((column) => textOf(column, row, screen)));
  const widths = fit(
    columns.map(({ head }, index) => texts.reduce((most, line) => Math.max(most, widthOf(line[index] ?? "")), widthOf(head))),
    columns,
    screen.columns ?? Number.POSITIVE_INFINITY,
  );
  const line = (cells: readonly string[], paint: (text: string, column: Column<Row>) => string): string =>
    widths
      .map((width, index) => {
        const text = cutTo(cells[index] ?? "", width);
        const column = columns[index];
        if (column === undefined) return text;
        // behind the last one nothing stands: to pad its values to the longest would multiply that by the rows
        const isLast = index === widths.length - 1 && column.align !== "right";
        const space = isLast ? "" : " ".repeat(width - widthOf(text));
        return column.align === "right" ? `${space}${paint(text, column)}` : `${paint(text, column)}${space}`;
      })
      .join(GAP)
      .trimEnd();
  const head = line(
    columns.map((column) => column.head),
    (text) => screen.colors.dim(text),
  );
  return [
    head,
    ...rows.map((row, index) => line(texts[index] ?? [], (text, { paint }) => paint?.(text, row, screen) ?? text)),
  ].join("\n");
};

/** On a terminal no more of a value than could ever be seen: a payload may have megabytes. */
const textOf = <Row>({ value }: Column<Row>, row: Row, { columns }: Screen): string => {
  const text = inert(String(value(row) ?? "–"));
  return columns === null ? text : text.slice(0, columns + 1).toWellFormed();
};

/** Takes from the widest: of those that yield first, then next, then of all. What then still does not fit is left out, from the right. */
const fit = <Row>(natural: readonly number[], columns: readonly Column<Row>[], available: number): readonly number[] => {
  const widths = [...natural];
  const excess = (): number => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - available;
  for (const turn of ["first", "next"]) narrow(widths, excess, (index) => columns[index]?.yields === turn, YIELDED_WIDTH);
  narrow(widths, excess, () => true, LEAST_WIDTH);
  while (excess() > 0 && widths.length > 1) widths.pop();
  return widths.map((width) => Math.min(width, available));
};

const narrow = (widths: number[], excess: () => number, mayYield: (index: number) => boolean, least: number): void => {
  while (excess() > 0) {
    let widest = -1;
    for (const [index, width] of widths.entries()) {
      if (mayYield(index) && width > least && width > (widths[widest] ?? 0)) widest = index;
    }
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
};
