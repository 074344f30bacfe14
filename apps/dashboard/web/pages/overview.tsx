import type { JSX } from "preact";
import type { GroupRow, Overview, StreamRow } from "../../src/views/overview.ts";
import { count, rate, shortCount } from "../format.ts";
import { CodeBox } from "../parts/code-box.tsx";
import { Empty, Page, Section, Shown, Trouble } from "../parts/page.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { GroupBadge } from "../parts/states.tsx";
import { type Column, Pager, Table } from "../parts/table.tsx";
import { Ago, Figure, Stored } from "../parts/text.tsx";
import { Tile, Tiles } from "../parts/tiles.tsx";
import { useLive } from "../state/live.ts";
import { deadLettersHref, groupHref, route, streamHref } from "../state/route.ts";

/** Rows of one page of groups or streams, as the server gives them. */
const PAGE = 50;

export const OverviewPage = (): JSX.Element => {
  const { query } = route.value;
  const asked = (name: string): string | null => query.get(name);
  const page = Number(asked("page") ?? "1");
  const watched = useLive<Overview>("overview", {
    search: asked("search"),
    sort: asked("sort"),
    order: asked("order"),
    page: asked("page"),
  });
  return (
    <Page title="Overview" aside={<SearchField label="Find a stream or group by name" />}>
      <Shown watched={watched}>{(view) => <Figures view={view} page={page} />}</Shown>
    </Page>
  );
};

const Figures = ({ view, page }: { readonly view: Overview; readonly page: number }): JSX.Element => {
  const { totals, problem } = view;
  if (totals.streams === 0 && problem === null) return <NoStreams />;
  return (
    <>
      {problem !== null && <Trouble problem={problem} isStale />}
      {view.isPartial && (
        <p class="muted">There are more streams or groups than are shown here. Open one by its address to see it.</p>
      )}
      <Tiles>
        <Tile name="Streams">{count(totals.streams)}</Tile>
        <Tile name="Groups">{count(totals.groups)}</Tile>
        <Tile name="Events kept">{shortCount(totals.events)}</Tile>
        <Tile name="Appended">{rate(totals.appendedPerSecond)}</Tile>
        <Tile name="Lag">{shortCount(totals.lag)}</Tile>
        <Tile name="In flight">{shortCount(totals.inflight)}</Tile>
        <Tile name="Retrying" tone={totals.retrying > 0 ? "warn" : undefined}>
          {shortCount(totals.retrying)}
        </Tile>
        <Tile name="Dead letters" tone={totals.deadLetters > 0 ? "bad" : undefined}>
          {shortCount(totals.deadLetters)}
        </Tile>
      </Tiles>
      <Section title="Groups" aside={<span class="muted number">{count(view.matchingGroups)}</span>}>
        {view.matchingGroups === 0 ? (
          <Empty title="No group here">
            {totals.groups === 0
              ? "Create one with createGroup, or start a consumer that does."
              : "No name matches. Clear the search to see all."}
          </Empty>
        ) : (
          <Table
            caption="Groups"
            columns={GROUPS}
            rows={view.groups}
            keyOf={({ stream, group }) => `${stream}/${group}`}
            sorted={{ by: "lag", order: "desc" }}
          />
        )}
      </Section>
      <Section title="Streams" aside={<span class="muted number">{count(view.matchingStreams)}</span>}>
        {view.matchingStreams === 0 ? (
          <Empty title="No stream matches" />
        ) : (
          <Table caption="Streams" columns={STREAMS} rows={view.streams} keyOf={({ name }) => name} />
        )}
      </Section>
      <Pager page={page} pages={Math.ceil(Math.max(view.matchingGroups, view.matchingStreams) / PAGE)} />
    </>
  );
};

const NoStreams = (): JSX.Element => (
  <Empty title="This store has no streams yet">
    <p>They appear here as soon as there is one.</p>
    <CodeBox
      label="Code to run elsewhere"
      note="A stream and its first event"
      text={
        'await rheo.ensureStream("orders", { partitions: 4 });\nawait rheo.append("orders", { key: "order-1", payload: { total: 12 } });'
      }
    />
  </Empty>
);

const GROUPS: readonly Column<GroupRow>[] = [
  {
    title: "Group",
    sort: "name",
    cell: ({ stream, group }) => (
      <span class="group-name">
        <a data-row href={groupHref(stream, group)}>
          <Stored text={group} />
        </a>
        <a class="of-stream" href={streamHref(stream)} aria-label={`Stream ${stream}`}>
          <Stored text={stream} />
        </a>
      </span>
    ),
  },
  { title: "State", cell: ({ state }) => <GroupBadge state={state} /> },
  {
    title: "Lag",
    sort: "lag",
    isNumber: true,
    hint: "Deliveries that are neither acked nor dead",
    cell: ({ lag }) => <Figure value={lag} show={shortCount} />,
  },
  { title: "Of late", hint: "The lag of the last minutes", isExtra: true, cell: ({ trend }) => <Sparkline values={trend} /> },
  {
    title: "Rate",
    sort: "settledPerSecond",
    isNumber: true,
    hint: "How fast the frontier moves",
    cell: ({ settledPerSecond }) => <Figure value={settledPerSecond} show={rate} />,
  },
  {
    title: "In flight",
    sort: "inflight",
    isNumber: true,
    hint: "Leases that have not run out",
    isExtra: true,
    cell: ({ inflight }) => <Figure value={inflight} show={shortCount} />,
  },
  {
    title: "Retrying",
    sort: "retrying",
    isNumber: true,
    isExtra: true,
    cell: ({ retrying }) => <Figure value={retrying} show={shortCount} />,
  },
  {
    title: "Dead",
    sort: "deadLetters",
    isNumber: true,
    hint: "Dead letters",
    cell: ({ stream, group, deadLetters }) =>
      deadLetters === null || deadLetters === 0 ? (
        <Figure value={deadLetters} show={shortCount} />
      ) : (
        <a class="bad" href={deadLettersHref(stream, group)} aria-label={`${count(deadLetters)} dead letters of ${group}`}>
          {shortCount(deadLetters)}
        </a>
      ),
  },
  {
    title: "Oldest",
    sort: "oldestUnsettledAtMs",
    isNumber: true,
    hint: "Age of the oldest event that is not settled",
    isExtra: true,
    cell: ({ oldestUnsettledAtMs }) => <Ago atMs={oldestUnsettledAtMs} />,
  },
];

const STREAMS: readonly Column<StreamRow>[] = [
  {
    title: "Stream",
    cell: ({ name }) => (
      <a data-row href={streamHref(name)}>
        <Stored text={name} />
      </a>
    ),
  },
  { title: "Partitions", isNumber: true, cell: ({ partitions }) => count(partitions) },
  { title: "Events kept", isNumber: true, cell: ({ events }) => shortCount(events) },
  { title: "Appended", isNumber: true, cell: ({ appendedPerSecond }) => <Figure value={appendedPerSecond} show={rate} /> },
  { title: "Groups", isNumber: true, cell: ({ groups }) => count(groups) },
];
