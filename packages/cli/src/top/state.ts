import type { TopRow } from "./rates.ts";

const SORTS = ["lag", "dead", "appended", "settled", "name"] as const;

/** What the user has chosen. */
export interface TopState {
  readonly sort: (typeof SORTS)[number];
  /** Place of the row that is marked, from 0. */
  readonly selected: number;
  /** Its members are shown. */
  readonly isOpen: boolean;
  /** Nothing is looked at anew. */
  readonly isHeld: boolean;
}

export const initial: TopState = { sort: "lag", selected: 0, isOpen: false, isHeld: false };

/** What a key does; null: it ends. */
export const press = (state: TopState, key: string, rows: number): TopState | null => {
  const select = (place: number): TopState => ({ ...state, selected: Math.min(Math.max(0, place), Math.max(0, rows - 1)) });
  switch (key) {
    case "q":
    case "\u0003":
      return null;
    case "j":
    case "\u001b[B":
      return select(state.selected + 1);
    case "k":
    case "\u001b[A":
      return select(state.selected - 1);
    case "s":
      return { ...state, sort: SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? "lag" };
    case "p":
    case " ":
      return { ...state, isHeld: !state.isHeld };
    case "\r":
    case "\n":
      return { ...state, isOpen: !state.isOpen };
    default:
      return state;
  }
};

export const sorted = (rows: readonly TopRow[], { sort }: TopState): readonly TopRow[] =>
  [...rows].sort((a, b) => weight(b, sort) - weight(a, sort) || byName(a, b));

const byName = (a: TopRow, b: TopRow): number => (`${a.stream}/${a.group}` < `${b.stream}/${b.group}` ? -1 : 1);

const weight = (row: TopRow, sort: TopState["sort"]): number => {
  switch (sort) {
    case "lag":
      return row.lag;
    case "dead":
      return row.deadLetters;
    case "appended":
      return row.appendedPerSecond ?? 0;
    case "settled":
      return row.settledPerSecond ?? 0;
    case "name":
      return 0;
    default:
      return sort satisfies never;
  }
};
