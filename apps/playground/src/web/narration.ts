/** What happened, the newest first. */
import type { LineView } from "../views.ts";
import { byId, element } from "./element.ts";

/** As many as are kept where they come from. */
const MOST_LINES = 300;

export const showLines = (lines: readonly LineView[]): void => {
  const list = byId("narration", HTMLOListElement);
  for (const { atMs, who, tone, text } of lines) {
    const time = element("time", "", new Date(atMs).toLocaleTimeString("en-GB"));
    list.prepend(element("li", tone, time, " ", element("strong", "", who), ` ${text}`));
  }
  while (list.childElementCount > MOST_LINES) list.lastElementChild?.remove();
};
