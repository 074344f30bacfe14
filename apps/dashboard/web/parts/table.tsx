import type { ComponentChildren, JSX } from "preact";
import { route, withQuery } from "../state/route.ts";

export interface Column<Row> {
  readonly title: string;
  /** More about it, on hover. */
  readonly hint?: string;
  /** The name it is sorted by; absent where it is not. */
  readonly sort?: string;
  readonly isNumber?: boolean;
  /** Left out on a narrow screen. */
  readonly isExtra?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** By default, where rows can be sorted. */
  readonly sorted?: { readonly by: string; readonly order: "asc" | "desc" };
}

/** Rows under headings; the first column names the row. */
export function Table<Row>({ caption, columns, rows, keyOf, sorted }: TableProps<Row>): JSX.Element {
  const by = route.value.query.get("sort") ?? sorted?.by;
  const order = route.value.query.get("order") ?? sorted?.order;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="table-box" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="sr-only">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading
                key={column.title}
                column={column}
                order={column.sort !== undefined && column.sort === by ? (order ?? null) : null}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th scope="row" key={column.title} class={classOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const classOf = ({ isNumber, isExtra }: Pick<Column<never>, "isNumber" | "isExtra">): string =>
  [isNumber === true ? "right" : "", isExtra === true ? "extra" : ""].filter(Boolean).join(" ");

function Heading<Row>({ column, order }: { readonly column: Column<Row>; readonly order: string | null }): JSX.Element {
  const { title, hint, sort } = column;
  const next = order === "desc" || (order === null && sort === "name") ? "asc" : "desc";
  return (
    <th
      scope="col"
      class={classOf(column)}
      aria-sort={order === null ? undefined : order === "asc" ? "ascending" : "descending"}
      title={hint}
    >
      {sort === undefined ? (
        title
      ) : (
        <a class="sort" href={withQuery({ sort, order: next, page: null })}>
          {title}
          <span class="arrow" aria-hidden="true">
            {order === null ? "" : order === "asc" ? "↑" : "↓"}
          </span>
        </a>
      )}
    </th>
  );
}

/** The way to other pages of a list. */
export const Pager = ({ page, pages }: { readonly page: number; readonly pages: number }): JSX.Element | null =>
  pages <= 1 ? null : (
    <nav class="pager" aria-label="Pages">
      {page > 1 ? <a href={withQuery({ page: page - 1 })}>← Previous</a> : <span class="muted">← Previous</span>}
      <span class="number">
        {page} of {pages}
      </span>
      {page < pages ? <a href={withQuery({ page: page + 1 })}>Next →</a> : <span class="muted">Next →</span>}
    </nav>
  );
