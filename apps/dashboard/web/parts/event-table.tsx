import type { JSX } from "preact";
import type { EventLine } from "../../src/views/event-text.ts";
import { count } from "../format.ts";
import { eventHref } from "../state/route.ts";
import { type Column, Table } from "./table.tsx";
import { Instant, Nothing, Stored } from "./text.tsx";

const COLUMNS: readonly Column<EventLine>[] = [
  {
    title: "Event",
    cell: ({ stream, id }) => (
      <a class="id" data-row href={eventHref(stream, id)}>
        <Stored text={id} mono />
      </a>
    ),
  },
  { title: "Time", cell: ({ timestampMs }) => <Instant atMs={timestampMs} /> },
  {
    title: "Place",
    hint: "Partition and sequence",
    cell: ({ partition, sequence }) => <span class="number place">{`${partition} / ${count(sequence)}`}</span>,
    isExtra: true,
  },
  { title: "Type", cell: ({ type }) => (type === null ? <Nothing /> : <Stored text={type} />) },
  { title: "Key", cell: ({ key }) => (key === null ? <Nothing /> : <Stored text={key} />) },
  {
    title: "Payload",
    isExtra: true,
    cell: ({ preview }) => (
      <span class="preview">
        <Stored text={preview} mono />
      </span>
    ),
  },
];

export const EventTable = ({
  caption,
  events,
}: {
  readonly caption: string;
  readonly events: readonly EventLine[];
}): JSX.Element => <Table caption={caption} columns={COLUMNS} rows={events} keyOf={({ stream, id }) => `${stream}/${id}`} />;
