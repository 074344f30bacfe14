import type { JSX } from "preact";
import type { LongText } from "../../src/views/event-text.ts";
import { bytes, visible } from "../format.ts";
import { CodeBox } from "./code-box.tsx";

/** Longer texts are shown without colours: thousands of spans would make the page slow. */
const MOST_COLOURED = 60_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/** JSON as it was indented by the server, coloured. */
export const JsonText = ({ json, label }: { readonly json: LongText; readonly label: string }): JSX.Element => {
  const { text, bytes: size, isCut } = json;
  const shown = visible(text, true);
  const note = isCut
    ? `${bytes(size)}, of which the first ${text.length.toLocaleString("en")} characters are shown`
    : bytes(size);
  return (
    <CodeBox label={label} note={note} text={text}>
      {shown.length > MOST_COLOURED ? shown : coloured(shown)}
    </CodeBox>
  );
};

const coloured = (text: string): (JSX.Element | string)[] => {
  const parts: (JSX.Element | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, quoted, colon, word] = match;
    if (match.index > end) parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (quoted !== undefined)
      parts.push(<span class={colon === undefined ? "json-text" : "json-name"}>{quoted}</span>, colon ?? "");
    else parts.push(<span class={word === undefined ? "json-number" : "json-word"}>{whole}</span>);
  }
  parts.push(text.slice(end));
  return parts;
};
