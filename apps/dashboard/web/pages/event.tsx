import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { EventView } from "../../src/views/event.ts";
import type { LineageView } from "../../src/views/lineage.ts";
import { count, timeOfDay } from "../format.ts";
import { Deliveries } from "../parts/deliveries.tsx";
import { EventFacts } from "../parts/event-facts.tsx";
import { Empty, Page, Section, Shown } from "../parts/page.tsx";
import { Stored } from "../parts/text.tsx";
import { useLive } from "../state/live.ts";
import { useOnce } from "../state/once.ts";
import { eventHref, href, streamHref } from "../state/route.ts";

interface Place {
  readonly stream: string;
  readonly id: string;
}

export const EventPage = ({ stream, id }: Place): JSX.Element => (
  <Page
    title={id}
    crumbs={[
      { text: "Overview", href: href([]) },
      { text: stream, href: streamHref(stream) },
      { text: "Events", href: href(["streams", stream, "events"]) },
    ]}
  >
    <Shown watched={useLive<EventView>("event", { stream, id })}>
      {(view) => (
        <>
          <Section title="Content">
            <EventFacts event={view.event} />
          </Section>
          <Section title="Where every group stands with it">
            {view.groups.length === 0 ? (
              <Empty title="No group reads this stream" />
            ) : (
              <Deliveries stream={stream} eventId={id} groups={view.groups} />
            )}
            {view.groupCount > view.groups.length && (
              <p class="muted">And {count(view.groupCount - view.groups.length)} more groups.</p>
            )}
          </Section>
          <Lineage key={`${stream}/${id}`} stream={stream} id={id} />
        </>
      )}
    </Shown>
  </Page>
);

/** On demand: it means looking through streams. */
const Lineage = ({ stream, id }: Place): JSX.Element => {
  const [isWanted, setWanted] = useState(false);
  const asked = useOnce<LineageView>("lineage", isWanted ? { stream, id } : null);
  return (
    <Section title="Lineage">
      {isWanted ? (
        <Shown watched={asked}>{(view) => <Lines view={view} />}</Shown>
      ) : (
        <p>
          <button type="button" onClick={() => setWanted(true)}>
            Look for causes and effects
          </button>{" "}
          <span class="muted">This looks through all streams for events of the same correlation.</span>
        </p>
      )}
    </Section>
  );
};

/** Steps to the right that are shown; deeper ones stand below each other. */
const DEEPEST = 8;

const Lines = ({ view }: { readonly view: LineageView }): JSX.Element => {
  if (view.lines.length <= 1)
    return <Empty title="It stands alone">No event names it as its cause, or shares its correlation.</Empty>;
  return (
    <>
      <ol class="lineage">
        {view.lines.map(({ id, stream, type, timestampMs, depth, isThis }) => (
          <li
            key={`${stream}/${id}`}
            class={`depth-${Math.min(DEEPEST, depth)}${isThis ? " this" : ""}`}
            aria-current={isThis ? "true" : undefined}
          >
            <span class="sr-only">{`Level ${depth + 1}: `}</span>
            <a data-row href={eventHref(stream, id)}>
              <Stored text={type ?? id} />
            </a>{" "}
            <span class="muted">
              <Stored text={stream} /> <span class="number">{timeOfDay(timestampMs)}</span>
            </span>
          </li>
        ))}
      </ol>
      {view.isCut && <p class="muted">There are more events of this correlation than are shown.</p>}
    </>
  );
};
