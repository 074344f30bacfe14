import type { JSX } from "preact";
import type { StreamView } from "../../src/views/stream.ts";
import { count, rate, shortCount } from "../format.ts";
import { Empty, Page, Section, Shown } from "../parts/page.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { GroupBadge } from "../parts/states.tsx";
import { StreamTabs } from "../parts/stream-tabs.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Ago, Figure, Instant, Stored } from "../parts/text.tsx";
import { Tile, Tiles } from "../parts/tiles.tsx";
import { useLive } from "../state/live.ts";
import { deadLettersHref, groupHref, href } from "../state/route.ts";

type Group = StreamView["groups"][number];
type Partition = StreamView["partitions"][number];

export const StreamPage = ({ stream }: { readonly stream: string }): JSX.Element => (
  <Page title={stream} crumbs={[{ text: "Overview", href: href([]) }]}>
    <StreamTabs stream={stream} at="stream" />
    <Shown watched={useLive<StreamView>("stream", { stream })}>{(view) => <Figures view={view} />}</Shown>
  </Page>
);

const Figures = ({ view }: { readonly view: StreamView }): JSX.Element => (
  <>
    <Tiles>
      <Tile name="Partitions">{count(view.partitions.length)}</Tile>
      <Tile name="Events kept">{shortCount(view.events)}</Tile>
      <Tile name="Appended">
        <Figure value={view.appendedPerSecond} show={rate} />
      </Tile>
      <Tile name="Created">
        <span class="small">
          <Instant atMs={view.createdAtMs} />
        </span>
      </Tile>
      <Tile name="Indexes">
        <span class="small">
          {view.indexes.length === 0 ? (
            <span class="muted">none</span>
          ) : (
            view.indexes.map((path) => <Stored key={path} text={`${path} `} mono />)
          )}
        </span>
      </Tile>
    </Tiles>
    <Section title="Groups" aside={<span class="muted number">{count(view.groups.length)}</span>}>
      {view.groups.length === 0 ? (
        <Empty title="Nobody reads this stream">Create a group with createGroup, or start a consumer that does.</Empty>
      ) : (
        <Table caption="Groups of this stream" columns={groupColumns} rows={view.groups} keyOf={({ group }) => group} />
      )}
    </Section>
    <Section title="Partitions">
      <Table caption="Partitions" columns={PARTITIONS} rows={view.partitions} keyOf={({ partition }) => String(partition)} />
    </Section>
  </>
);

const groupColumns: readonly Column<Group>[] = [
  {
    title: "Group",
    cell: ({ stream, group }) => (
      <a data-row href={groupHref(stream, group)}>
        <Stored text={group} />
      </a>
    ),
  },
  { title: "State", cell: ({ state }) => <GroupBadge state={state} /> },
  { title: "Lag", isNumber: true, cell: ({ lag }) => <Figure value={lag} show={shortCount} /> },
  { title: "Of late", isExtra: true, cell: ({ trend }) => <Sparkline values={trend} /> },
  { title: "Rate", isNumber: true, cell: ({ settledPerSecond }) => <Figure value={settledPerSecond} show={rate} /> },
  {
    title: "Dead",
    isNumber: true,
    cell: ({ stream, group, deadLetters }) =>
      deadLetters ? (
        <a class="bad" href={deadLettersHref(stream, group)} aria-label={`${count(deadLetters)} dead letters of ${group}`}>
          {shortCount(deadLetters)}
        </a>
      ) : (
        <Figure value={deadLetters} show={shortCount} />
      ),
  },
  { title: "Oldest", isNumber: true, isExtra: true, cell: ({ oldestUnsettledAtMs }) => <Ago atMs={oldestUnsettledAtMs} /> },
];

const PARTITIONS: readonly Column<Partition>[] = [
  { title: "Partition", cell: ({ partition }) => <span class="number">{partition}</span> },
  { title: "First kept", isNumber: true, cell: ({ firstSequence, events }) => (events === 0 ? "–" : count(firstSequence)) },
  { title: "High watermark", isNumber: true, cell: ({ highWatermark }) => count(highWatermark) },
  { title: "Events kept", isNumber: true, cell: ({ events }) => count(events) },
];
