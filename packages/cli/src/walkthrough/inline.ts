/** What stands in a line of Markdown, as text in the colours of a terminal. */
import type { Token, Tokens } from "marked";
import picocolors from "picocolors";
import type { Colors } from "../io.ts";
import { inert } from "../output/inert.ts";
import { widthOf } from "../output/width.ts";

type Paint = (text: string) => string;

const NO_COLORS = picocolors.createColors(false);

/** Text of one colour; it may begin or end in the middle of a word. */
export interface Piece {
  readonly text: string;
  readonly paint: Paint;
}

export const plain: Paint = (text) => text;

export const inline = (tokens: readonly Token[], colors: Colors, paint: Paint = plain): readonly Piece[] =>
  tokens.flatMap((token) => pieces(token, colors, paint));

const pieces = (token: Token, colors: Colors, paint: Paint): readonly Piece[] => {
  const inner = (more: Paint): readonly Piece[] =>
    inline((token as Tokens.Generic).tokens ?? [], colors, (text) => paint(more(text)));
  switch (token.type) {
    case "strong":
      return inner(colors.bold);
    case "em":
      return inner(colors.italic);
    case "codespan": {
      const { text } = token as Tokens.Codespan;
      if (!colors.isColorSupported) return [{ text: `\`${text}\``, paint }];
      return [{ text, paint: (part) => paint(colors.cyan(part)) }];
    }
    case "link": {
      const { href } = token as Tokens.Link;
      const address = /^https?:/.test(href) ? [{ text: ` (${href})`, paint: colors.dim }] : [];
      return [...inner(colors.underline), ...address];
    }
    case "br":
      return [{ text: " ", paint }];
    case "html":
      return [];
    default: {
      const { tokens, text = "" } = token as Tokens.Generic & { readonly text?: string };
      return tokens === undefined ? [{ text, paint }] : inline(tokens, colors, paint);
    }
  }
};

/** Without any colours. */
export const textOf = (tokens: readonly Token[]): string =>
  inline(tokens, NO_COLORS)
    .map(({ text }) => text)
    .join("");

/** As many words in a line as fit. */
export const wrap = (line: readonly Piece[], columns: number): string => {
  const lines: string[] = [];
  let current = "";
  let width = 0;
  for (const word of wordsOf(line)) {
    if (width > 0 && width + 1 + word.width > columns) {
      lines.push(current);
      current = "";
      width = 0;
    }
    current += width === 0 ? word.painted : ` ${word.painted}`;
    width += word.width + (width === 0 ? 0 : 1);
  }
  return [...lines, current].join("\n");
};

interface Word {
  readonly painted: string;
  readonly width: number;
}

const wordsOf = (line: readonly Piece[]): readonly Word[] => {
  const words: Word[] = [{ painted: "", width: 0 }];
  for (const { text, paint } of line) {
    for (const [index, part] of text.split(/\s+/).entries()) {
      const before = index === 0 ? words.pop() : undefined;
      const safe = inert(part);
      words.push({
        painted: (before?.painted ?? "") + (safe === "" ? "" : paint(safe)),
        width: (before?.width ?? 0) + widthOf(safe),
      });
    }
  }
  return words.filter(({ width }) => width > 0);
};
