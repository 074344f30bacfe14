import type { JSX } from "preact";
import type { DeadLetterView } from "../../src/views/dead-letter.ts";
import { count } from "../format.ts";
import { CodeBox } from "../parts/code-box.tsx";
import { Deliveries } from "../parts/deliveries.tsx";
import { EventFacts } from "../parts/event-facts.tsx";
import { Empty, Page, Section, Shown } from "../parts/page.tsx";
import { Ago, Instant, Stored } from "../parts/text.tsx";
import { Tile, Tiles } from "../parts/tiles.tsx";
import { useLive } from "../state/live.ts";
import { deadLettersHref, eventHref, groupHref, href, route, streamHref } from "../state/route.ts";

export const DeadLetterPage = ({
  stream,
  group,
  id,
}: {
  readonly stream: string;
  readonly group: string;
  readonly id: string;
}): JSX.Element => (
  <Page
    title={id}
    crumbs={[
      { text: "Overview", href: href([]) },
      { text: stream, href: streamHref(stream) },
      { text: group, href: groupHref(stream, group) },
      { text: "Dead letters", href: deadLettersHref(stream, group) },
    ]}
  >
    <Shown watched={useLive<DeadLetterView>("dead-letter", { stream, group, id, after: route.value.query.get("after") })}>
      {(view) => <Letter view={view} />}
    </Shown>
  </Page>
);

const Letter = ({ view }: { readonly view: DeadLetterView }): JSX.Element => (
  <>
    <div class="verdict">
      <p class="reason">
        <Stored text={view.reason} />
      </p>
      {view.stack !== null && (
        <details>
          <summary>Where it was thrown</summary>
          <CodeBox label="Stack" note="The error's stack" text={view.stack} />
        </details>
      )}
    </div>
    <Tiles>
      <Tile name="Attempts">{`${count(view.attempts)} of ${count(view.maxAttempts)}`}</Tile>
      <Tile name="First failed">
        <span class="small">
          <Instant atMs={view.firstFailedAtMs} />
        </span>
      </Tile>
      <Tile name="Died">
        <span class="small">
          <Ago atMs={view.deadAtMs} /> ago
        </span>
      </Tile>
      <Tile name="Last holder">
        <span class="small">
          <Stored text={view.consumerId} />
        </span>
      </Tile>
      <Tile name="Place">
        <span class="small number">{`partition ${view.partition}, sequence ${count(view.sequence)}`}</span>
      </Tile>
    </Tiles>
    {view.event === null ? (
      <Empty title="Its event was trimmed">
        What it held is gone; the letter is all that is left. A redrive has nothing to offer again.
      </Empty>
    ) : (
      <>
        <Section title="Event" aside={<a href={eventHref(view.stream, view.eventId)}>Its page, with its lineage</a>}>
          <EventFacts event={view.event} />
        </Section>
        <Section title="Where every group stands with it">
          <Deliveries stream={view.stream} eventId={view.eventId} groups={view.groups} />
        </Section>
        <Section title="When the cause is mended">
          <CodeBox
            label="Code to run elsewhere"
            note="Offers it again to this group, with attempts from 0"
            text={`await rheo.redrive(${JSON.stringify(view.stream)}, ${JSON.stringify(view.group)}, { eventIds: [${JSON.stringify(view.eventId)}] });`}
          />
        </Section>
      </>
    )}
  </>
);
