/** Markdown as text for a terminal, block by block; what stands in a line is in `inline.ts`. */
import { lexer, type Token, type Tokens } from "marked";
import type { Screen } from "../output/screen.ts";
import { table } from "../output/table.ts";
import { widthOf } from "../output/width.ts";
import { inline, type Piece, plain, textOf, wrap } from "./inline.ts";

/** Longer lines are hard to read, however wide the terminal. */
const MAX_COLUMNS = 100;

export const prose = (markdown: string, screen: Screen): string =>
  blocks(lexer(markdown), { ...screen, columns: Math.min(screen.columns ?? MAX_COLUMNS, MAX_COLUMNS) }, "\n\n");

/** What lines are laid out for: a width there always is. */
type Page = Screen & { readonly columns: number };

const blocks = (tokens: readonly Token[], page: Page, between: string): string =>
  tokens
    .map((token) => block(token, page))
    .filter((text) => text !== "")
    .join(between);

const block = (token: Token, page: Page): string => {
  const { bold, underline, dim } = page.colors;
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      return wrap(inline(tokens, page.colors, depth === 1 ? (text) => bold(underline(text)) : bold), page.columns);
    }
    case "paragraph":
    case "text":
      return wrap(inline([token], page.colors), page.columns);
    case "list":
      return list(token as Tokens.List, page);
    case "table":
      return grid(token as Tokens.Table, page);
    case "blockquote":
      return blocks((token as Tokens.Blockquote).tokens, narrower(page, 2), "\n").replaceAll(/^/gm, dim("│ "));
    case "code":
      return (token as Tokens.Code).text.replaceAll(/^/gm, "  ");
    default:
      return "";
  }
};

const narrower = (page: Page, by: number): Page => ({ ...page, columns: page.columns - by });

const list = ({ items, ordered, start }: Tokens.List, page: Page): string =>
  items
    .map(({ tokens }, index) => {
      const bullet = ordered ? `${Number(start || 1) + index}. ` : "• ";
      const text = blocks(tokens, narrower(page, bullet.length), "\n");
      return `${bullet}${text.replaceAll("\n", `\n${" ".repeat(bullet.length)}`)}`;
    })
    .join("\n");

/** As a table where it fits; else the cells of each row below its first one. */
const grid = ({ header, rows }: Tokens.Table, page: Page): string => {
  const columns = header.map((head, index) => ({
    head: textOf(head.tokens),
    value: (row: Tokens.TableCell[]) => textOf(row[index]?.tokens ?? []),
  }));
  const whole = table({ ...page, columns: null }, columns, rows);
  if (whole.split("\n").every((line) => widthOf(line) <= page.columns)) return whole;
  return rows.map((row) => row.map((cell, index) => cellBelow(cell, index, page)).join("\n")).join("\n");
};

const cellBelow = ({ tokens }: Tokens.TableCell, index: number, page: Page): string => {
  if (index === 0) return wrap(inline(tokens, page.colors, page.colors.bold), page.columns);
  const pieces: readonly Piece[] = inline(tokens, page.colors, plain);
  return wrap(pieces, page.columns - 2).replaceAll(/^/gm, "  ");
};
