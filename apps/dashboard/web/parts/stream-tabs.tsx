import type { JSX } from "preact";
import { href } from "../state/route.ts";

const TABS = [
  ["stream", "Groups and partitions", []],
  ["events", "Find events", ["events"]],
  ["tail", "Live tail", ["tail"]],
] as const;

/** The pages of one stream. */
export const StreamTabs = ({ stream, at }: { readonly stream: string; readonly at: (typeof TABS)[number][0] }): JSX.Element => (
  <nav class="tabs" aria-label="Of this stream">
    {TABS.map(([name, text, path]) => (
      <a key={name} class="tab" href={href(["streams", stream, ...path])} aria-current={name === at ? "page" : undefined}>
        {text}
      </a>
    ))}
  </nav>
);
