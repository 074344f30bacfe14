import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { visible } from "../format.ts";

interface CodeBoxProps {
  /** What it is, for those who do not see it. */
  readonly label: string;
  /** What it is, above it. */
  readonly note: string;
  /** What is copied, and shown if there are no children. */
  readonly text: string;
  readonly children?: ComponentChildren;
}

/** Text of fixed width, to be read, scrolled and copied. */
export const CodeBox = ({ label, note, text, children }: CodeBoxProps): JSX.Element => (
  <div class="code-box">
    <div class="code-head">
      <span class="muted">{note}</span>
      <Copy text={text} what={label} />
    </div>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
    <section class="code-scroll" aria-label={label} tabIndex={0}>
      <pre>
        <code>{children ?? visible(text, true)}</code>
      </pre>
    </section>
  </div>
);

/** How long a button says that it is done, in ms. */
const DONE_MS = 1_500;

/** Puts a text on the clipboard, and says so for a moment. Browsers have none for pages that come unencrypted from elsewhere. */
const Copy = ({ text, what }: { readonly text: string; readonly what: string }): JSX.Element | null => {
  const [isDone, setDone] = useState(false);
  if (navigator.clipboard === undefined) return null;
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => {
        setDone(true);
        setTimeout(() => setDone(false), DONE_MS);
      },
      () => undefined, // the browser forbids it; the text can be selected
    );
  };
  return (
    <button type="button" class="quiet-button" onClick={copy} aria-label={`Copy: ${what}`}>
      {isDone ? "Copied" : "Copy"}
    </button>
  );
};
