import { about } from "./about.ts";
import { deadLetter } from "./dead-letter.ts";
import { deadLetters } from "./dead-letters.ts";
import { event } from "./event.ts";
import { group } from "./group.ts";
import { lineage } from "./lineage.ts";
import { overview } from "./overview.ts";
import { search } from "./search.ts";
import { stream } from "./stream.ts";
import { tail } from "./tail.ts";
import { tree } from "./tree.ts";
import type { View } from "./view.ts";

/** By their name in the URL: `api/<name>`. */
export const VIEWS: ReadonlyMap<string, View> = new Map(
  Object.entries({
    about,
    "dead-letter": deadLetter,
    "dead-letters": deadLetters,
    event,
    group,
    lineage,
    overview,
    search,
    stream,
    tail,
    tree,
  }),
);
