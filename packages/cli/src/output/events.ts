/** Events as text. */
import type { Event } from "@rheo/core";
import { inert, inertJson } from "./inert.ts";
import type { Screen } from "./screen.ts";
import { type Column, table } from "./table.ts";
import { cutTo } from "./width.ts";

/** Where an event is, such as 3@42. */
export const place = ({ partition, sequence }: { readonly partition: number; readonly sequence: number }): string =>
  `${partition}@${sequence}`;

const COLUMNS: readonly Column<Event>[] = [
  { head: "AT", value: place, align: "right" },
  { head: "TIMESTAMP", value: ({ timestamp }) => timestamp.toISOString(), yields: "next" },
  { head: "ID", value: ({ id }) => id },
  { head: "TYPE", value: ({ type }) => type },
  { head: "KEY", value: ({ key }) => key, yields: "next" },
  { head: "PAYLOAD", value: ({ payload }) => JSON.stringify(payload), yields: "first" },
];

export const eventTable = (screen: Screen, events: readonly Event[]): string => table(screen, COLUMNS, events);

/** One event on a line, cut to the width of the terminal; for events that come one by one. */
export const eventLine = (screen: Screen, event: Event): string => {
  const line = [
    place(event),
    event.timestamp.toISOString(),
    event.id,
    ...(event.type === null ? [] : [event.type]),
    ...(event.key === null ? [] : [`key=${event.key}`]),
  ].map(inert);
  const text = `${line.join(" ")} ${inertJson(event.payload)}`;
  return screen.columns === null ? text : cutTo(text, screen.columns);
};
