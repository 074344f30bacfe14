/** How wide text is drawn: https://www.unicode.org/reports/tr11/, on text that is inert. */

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
/** Each is one column wide; most text is of these alone. */
const NARROW = /^[ -~–…←→]*$/;
/** East Asian Wide and Fullwidth, and emoji, by blocks. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** In columns of a terminal. */
export const widthOf = (text: string): number =>
  NARROW.test(text) ? text.length : [...GRAPHEMES.segment(text)].reduce((sum, { segment }) => sum + columnsOf(segment), 0);

const columnsOf = (grapheme: string): number => (WIDE.test(grapheme) ? 2 : 1);

/** At most so wide, with … where it was cut. */
export const cutTo = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text;
  if (NARROW.test(text)) return `${text.slice(0, columns - 1)}…`;
  let shown = "";
  let width = 1;
  for (const { segment } of GRAPHEMES.segment(text)) {
    width += columnsOf(segment);
    if (width > columns) break;
    shown += segment;
  }
  return `${shown}…`;
};
