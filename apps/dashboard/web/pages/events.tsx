import type { JSX } from "preact";
import type { SearchView } from "../../src/views/search.ts";
import { count } from "../format.ts";
import { EventTable } from "../parts/event-table.tsx";
import { FilterForm } from "../parts/filter-form.tsx";
import { Empty, Page, Shown } from "../parts/page.tsx";
import { StreamTabs } from "../parts/stream-tabs.tsx";
import { useOnce } from "../state/once.ts";
import { href, route, withQuery } from "../state/route.ts";

const FIELDS = [
  { name: "type", label: "Type", kind: "search" },
  { name: "key", label: "Key" },
  { name: "correlationId", label: "Correlation id" },
  { name: "partition", label: "Partition", kind: "number" },
  { name: "from", label: "From", kind: "time" },
  { name: "to", label: "Before", kind: "time" },
] as const;

export const EventsPage = ({ stream }: { readonly stream: string }): JSX.Element => {
  const { query } = route.value;
  const given = Object.fromEntries(["where", "cursor", ...FIELDS.map(({ name }) => name)].map((name) => [name, query.get(name)]));
  const asked = useOnce<SearchView>("search", { stream, ...given, from: utcOf(query.get("from")), to: utcOf(query.get("to")) });
  return (
    <Page title={stream} crumbs={[{ text: "Overview", href: href([]) }]}>
      <StreamTabs stream={stream} at="events" />
      <FilterForm key={stream} fields={FIELDS} />
      <div aria-busy={asked.isAsking} class={asked.isAsking ? "asking" : ""}>
        <Shown watched={asked}>{(view) => <Found view={view} again={asked.again} />}</Shown>
      </div>
    </Page>
  );
};

/** Fields give the time of this machine's zone. */
const utcOf = (local: string | null): string | null => {
  const date = new Date(local ?? "");
  return Number.isFinite(date.getTime()) ? date.toISOString() : local;
};

const Found = ({ view, again }: { readonly view: SearchView; readonly again: () => void }): JSX.Element => (
  <>
    <p class="muted number status" role="status">
      {`${count(view.examined)} of ${count(view.total)} looked through, newest first. `}
      <button type="button" class="quiet-button" onClick={again}>
        Again
      </button>
    </p>
    {view.events.length > 0 ? <EventTable caption="Events found" events={view.events} /> : <NoneFound view={view} />}
    <nav class="pager" aria-label="Pages">
      {route.value.query.get("cursor") !== null && <a href={withQuery({ cursor: null })}>← Newest</a>}
      {view.next !== null && (
        <a href={withQuery({ cursor: view.next })}>{view.events.length === 0 ? "Look further →" : "Older →"}</a>
      )}
    </nav>
  </>
);

const NoneFound = ({ view }: { readonly view: SearchView }): JSX.Element => {
  if (view.total === 0) return <Empty title="This stream is empty" />;
  return view.next === null ? (
    <Empty title="No event matches" />
  ) : (
    <Empty title="Nothing so far">
      A search stops after a moment, so that it never holds up the store. Look further to go on.
    </Empty>
  );
};
