import type { JSX } from "preact";
import type { GroupView, PartitionRow } from "../../src/views/group.ts";
import type { LeaseRun } from "../../src/views/lease-runs.ts";
import { count, duration, rate, shortCount } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import { HolderLine } from "../parts/deliveries.tsx";
import { LagMap } from "../parts/lag-map.tsx";
import { Empty, Page, Section, Shown } from "../parts/page.tsx";
import { GroupBadge } from "../parts/states.tsx";
import { Strip, StripLegend } from "../parts/strip.tsx";
import { type Column, Pager, Table } from "../parts/table.tsx";
import { Ago, Instant, Stored, Until } from "../parts/text.tsx";
import { Tile, Tiles } from "../parts/tiles.tsx";
import { Tree } from "../parts/tree.tsx";
import { useLive } from "../state/live.ts";
import { deadLettersHref, href, route, streamHref, withQuery } from "../state/route.ts";

export const GroupPage = ({ stream, group }: { readonly stream: string; readonly group: string }): JSX.Element => {
  const { query } = route.value;
  const watched = useLive<GroupView>("group", { stream, group, order: query.get("order"), page: query.get("page") });
  return (
    <Page
      title={group}
      crumbs={[
        { text: "Overview", href: href([]) },
        { text: stream, href: streamHref(stream) },
      ]}
      aside={watched.view !== null && <GroupBadge state={watched.view.state} />}
    >
      <Shown watched={watched}>{(view) => <Figures view={view} />}</Shown>
    </Page>
  );
};

const Figures = ({ view }: { readonly view: GroupView }): JSX.Element => (
  <>
    <Tiles>
      <Tile name="Lag">{shortCount(view.lag)}</Tile>
      <Tile name="Oldest unsettled">
        <Ago atMs={view.oldestUnsettledAtMs} />
      </Tile>
      <Tile name="In flight">{shortCount(view.inflight)}</Tile>
      <Tile name="Retrying" tone={view.retrying > 0 ? "warn" : undefined}>
        {shortCount(view.retrying)}
      </Tile>
      <Tile name="Dead letters" tone={view.deadLetters > 0 ? "bad" : undefined} href={deadLettersHref(view.stream, view.group)}>
        {shortCount(view.deadLetters)}
      </Tile>
      <Tile name="Members">{count(view.memberCount)}</Tile>
    </Tiles>
    <OfLate view={view} />
    <Partitions view={view} />
    <Section title="Leases" aside={<span class="muted">of the partitions above</span>}>
      <Leases view={view} />
    </Section>
    <Section title="Members">
      {view.members.length === 0 ? (
        <Empty title="Nobody fetches">
          {view.lag > 0
            ? "There is lag, so a consumer should be running. Start one, or see why it ended."
            : "No member was seen for two lease lengths."}
        </Empty>
      ) : (
        <Table caption="Members" columns={MEMBERS} rows={view.members} keyOf={({ consumerId }) => consumerId} />
      )}
    </Section>
    {view.consumers.length > 0 && (
      <Section title="In this process">
        <Tree nodes={view.consumers} />
      </Section>
    )}
    <Section title="Options">
      <Options view={view} />
    </Section>
  </>
);

const OfLate = ({ view: { history } }: { readonly view: GroupView }): JSX.Element | null => {
  if (history.length < 2) return <p class="muted section">Figures over time begin a few seconds after somebody looks.</p>;
  const atMs = history.map((point) => point.atMs);
  return (
    <div class="charts">
      <Chart
        title="Lag"
        atMs={atMs}
        show={shortCount}
        lines={[{ name: "lag", colour: "--accent", values: history.map(({ lag }) => lag) }]}
      />
      <Chart
        title="Rates"
        atMs={atMs}
        show={rate}
        lines={[
          { name: "settled", colour: "--ok", values: history.map(({ settledPerSecond }) => settledPerSecond) },
          { name: "appended", colour: "--busy", values: history.map(({ appendedPerSecond }) => appendedPerSecond) },
        ]}
      />
    </div>
  );
};

const Partitions = ({ view }: { readonly view: GroupView }): JSX.Element => {
  const byLag = route.value.query.get("order") !== "partition";
  return (
    <Section
      title="Partitions"
      aside={
        view.lags.length > 1 && (
          <span class="switch">
            <a href={withQuery({ order: null, page: null })} aria-current={byLag ? "true" : undefined}>
              by lag
            </a>
            <a href={withQuery({ order: "partition", page: null })} aria-current={byLag ? undefined : "true"}>
              by number
            </a>
          </span>
        )
      }
    >
      {view.lags.length > 16 && <LagMap lags={view.lags} />}
      <StripLegend />
      <Table
        caption="Partitions of this group, and what holds each frontier"
        columns={PARTITIONS}
        rows={view.partitions}
        keyOf={({ partition }) => String(partition)}
      />
      {view.areLeasesCut && (
        <p class="muted">Leases are shown of the first partitions only: there are more than are read at a time.</p>
      )}
      <Pager page={view.page} pages={view.pages} />
    </Section>
  );
};

const PARTITIONS: readonly Column<PartitionRow>[] = [
  { title: "Partition", cell: ({ partition }) => <span class="number">{partition}</span> },
  {
    title: "Progress",
    cell: (part) => (
      <span class="strip-cell">
        <Strip part={part} />
        <span class="strip-ends number">
          <span title="Frontier">{count(part.frontier)}</span>
          <span title="High watermark">{count(part.highWatermark)}</span>
        </span>
        <span class="narrow">
          <HolderLine holder={part.holder} />
        </span>
      </span>
    ),
  },
  {
    title: "Lag",
    isNumber: true,
    cell: ({ lag, skipped }) => (
      <span title={skipped > 0 ? `${count(skipped)} more were trimmed away unsettled` : undefined}>{count(lag)}</span>
    ),
  },
  { title: "What holds the frontier", isExtra: true, cell: ({ holder }) => <HolderLine holder={holder} /> },
];

/** Runs that are listed. */
const MOST_RUNS = 40;

const Leases = ({ view }: { readonly view: GroupView }): JSX.Element => {
  const runs = view.partitions.flatMap((part) => part.runs);
  if (runs.length === 0) return <Empty title="Nothing is held" />;
  return (
    <>
      <Table
        caption="Leases"
        columns={LEASES}
        rows={runs.slice(0, MOST_RUNS)}
        keyOf={({ partition, token }) => `${partition}.${token}`}
      />
      {runs.length > MOST_RUNS && <p class="muted">And {count(runs.length - MOST_RUNS)} more.</p>}
    </>
  );
};

const LEASES: readonly Column<LeaseRun>[] = [
  { title: "Holder", cell: ({ consumerId }) => <Stored text={consumerId} /> },
  { title: "Partition", isNumber: true, cell: ({ partition }) => partition },
  { title: "Sequences", cell: ({ spans }) => <span class="number">{spansText(spans)}</span> },
  { title: "Deliveries", isNumber: true, cell: ({ count: held }) => count(held) },
  { title: "Attempt", isNumber: true, cell: ({ attempt }) => attempt },
  { title: "Token", isNumber: true, isExtra: true, hint: "The fencing token", cell: ({ token }) => count(token) },
  { title: "Held for", isNumber: true, cell: ({ leasedAtMs }) => <Ago atMs={leasedAtMs} /> },
  { title: "Runs out", isNumber: true, cell: ({ expiresAtMs }) => <Until atMs={expiresAtMs} over="run out" /> },
];

const spansText = (spans: LeaseRun["spans"]): string => {
  const shown = spans.slice(0, 3).map(([from, to]) => (from === to ? count(from) : `${count(from)}–${count(to)}`));
  return `${shown.join(", ")}${spans.length > 3 ? ", …" : ""}`;
};

const MEMBERS: readonly Column<GroupView["members"][number]>[] = [
  { title: "Member", cell: ({ consumerId }) => <Stored text={consumerId} /> },
  { title: "Leases", isNumber: true, cell: ({ leases }) => count(leases) },
  { title: "Last seen", isNumber: true, cell: ({ lastSeenAtMs }) => <Ago atMs={lastSeenAtMs} /> },
];

const Options = ({ view: { options, createdAtMs } }: { readonly view: GroupView }): JSX.Element => {
  const { retry } = options;
  const rows: readonly (readonly [string, JSX.Element | string])[] = [
    ["Created", <Instant key="created" atMs={createdAtMs} />],
    ["Attempts", count(options.maxAttempts)],
    ["Lease", duration(options.leaseMs)],
    [
      "Retry",
      `${duration(retry.minMs)} to ${duration(retry.maxMs)}, each ${retry.factor} times the last, ±${Math.round(retry.jitter * 100)} %`,
    ],
    ["Ordering", options.ordering],
    ["In flight at most", options.maxInflight === null ? "10,000 for each partition" : count(options.maxInflight)],
    [
      "Filter",
      options.filter === null ? "none: every event" : <Stored key="filter" text={JSON.stringify(options.filter)} mono />,
    ],
  ];
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
};
