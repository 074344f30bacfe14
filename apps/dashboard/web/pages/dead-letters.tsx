import type { JSX } from "preact";
import type { DeadLetterRow, DeadLettersView } from "../../src/views/dead-letters.ts";
import { count } from "../format.ts";
import { CodeBox } from "../parts/code-box.tsx";
import { FilterForm } from "../parts/filter-form.tsx";
import { Empty, Page, Section, Shown } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Ago, Nothing, Stored } from "../parts/text.tsx";
import type { Query } from "../state/api.ts";
import { useLive, type Watched } from "../state/live.ts";
import { useOnce } from "../state/once.ts";
import { groupHref, href, route, streamHref, withQuery } from "../state/route.ts";

interface Place {
  readonly stream: string;
  readonly group: string;
}

const FILTERS = ["type", "key", "reason", "where"] as const;

export const DeadLettersPage = ({ stream, group }: Place): JSX.Element => {
  const { query } = route.value;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]));
  const after = query.get("after");
  const isPlain = after === null && Object.values(filters).every((value) => value === null);
  const asked = { stream, group, after, ...filters };
  return (
    <Page
      title="Dead letters"
      crumbs={[
        { text: "Overview", href: href([]) },
        { text: stream, href: streamHref(stream) },
        { text: group, href: groupHref(stream, group) },
      ]}
    >
      <FilterForm
        key={`${stream}/${group}`}
        fields={[
          { name: "type", label: "Type" },
          { name: "key", label: "Key" },
          { name: "reason", label: "Reason contains", kind: "search" },
        ]}
      />
      {isPlain ? <FirstPage asked={asked} /> : <OtherPage asked={asked} />}
    </Page>
  );
};

/** Kept up to date: it is what one looks at while letters come in. */
const FirstPage = ({ asked }: { readonly asked: Query }): JSX.Element => (
  <Letters watched={useLive<DeadLettersView>("dead-letters", asked)} />
);

/** Read once: it may take a search through many letters. */
const OtherPage = ({ asked }: { readonly asked: Query }): JSX.Element => (
  <Letters watched={useOnce<DeadLettersView>("dead-letters", asked)} />
);

const Letters = ({ watched }: { readonly watched: Watched<DeadLettersView> }): JSX.Element => (
  <Shown watched={watched}>
    {(view) => (
      <>
        <p class="muted number status" role="status">
          {view.count !== null && `${count(view.count)} in all. `}
          {view.letters.length > 0 &&
            view.examined > view.letters.length &&
            `${count(view.letters.length)} of the ${count(view.examined)} looked through match. `}
        </p>
        {view.letters.length === 0 ? (
          <NoLetters view={view} />
        ) : (
          <Table caption="Dead letters" columns={columnsOf(view)} rows={view.letters} keyOf={({ eventId }) => eventId} />
        )}
        <nav class="pager" aria-label="Pages">
          {route.value.query.get("after") !== null && <a href={withQuery({ after: null })}>← First page</a>}
          {view.next !== null && (
            <a href={withQuery({ after: view.next })}>{view.letters.length === 0 ? "Look further →" : "Next →"}</a>
          )}
        </nav>
        {view.letters.length > 0 && <Redrive view={view} />}
      </>
    )}
  </Shown>
);

const NoLetters = ({ view }: { readonly view: DeadLettersView }): JSX.Element => {
  if (view.next !== null)
    return <Empty title="None of these match">{`${count(view.examined)} were looked through. There are more.`}</Empty>;
  return view.examined === 0 ? (
    <Empty title="Nothing is dead">What fails for good, or too often, comes here with its reason.</Empty>
  ) : (
    <Empty title="None matches">{`All ${count(view.examined)} were looked through.`}</Empty>
  );
};

const columnsOf = ({ stream, group }: Place): readonly Column<DeadLetterRow>[] => [
  {
    title: "Event",
    cell: ({ eventId, after }) => (
      <a class="id" data-row href={href(["streams", stream, "groups", group, "dead-letters", eventId], { after })}>
        <Stored text={eventId} mono />
      </a>
    ),
  },
  {
    title: "Reason",
    cell: ({ reason }) => (
      <span class="prose">
        <Stored text={reason} />
      </span>
    ),
  },
  { title: "Died", isNumber: true, cell: ({ deadAtMs }) => <Ago atMs={deadAtMs} /> },
  { title: "Attempts", isNumber: true, cell: ({ attempts }) => attempts },
  { title: "Type", isExtra: true, cell: ({ event }) => (event?.type ? <Stored text={event.type} /> : <Nothing />) },
  { title: "Key", isExtra: true, cell: ({ event }) => (event?.key ? <Stored text={event.key} /> : <Nothing />) },
  {
    title: "Place",
    isExtra: true,
    hint: "Partition and sequence",
    cell: ({ partition, sequence }) => <span class="number place">{`${partition} / ${count(sequence)}`}</span>,
  },
];

/** The dashboard does not redrive: it says how. */
const Redrive = ({ view: { stream, group } }: { readonly view: DeadLettersView }): JSX.Element => (
  <Section title="When the cause is mended">
    <CodeBox
      label="Code to run elsewhere"
      note="Offers all of them again, with attempts from 0"
      text={`await rheo.redrive(${JSON.stringify(stream)}, ${JSON.stringify(group)}, { all: true });`}
    />
  </Section>
);
