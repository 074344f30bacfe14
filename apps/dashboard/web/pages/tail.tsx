import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TailView } from "../../src/views/tail.ts";
import { count } from "../format.ts";
import { EventTable } from "../parts/event-table.tsx";
import { Empty, Page, Shown } from "../parts/page.tsx";
import { StreamTabs } from "../parts/stream-tabs.tsx";
import { useLive } from "../state/live.ts";
import { href } from "../state/route.ts";

export const TailPage = ({ stream }: { readonly stream: string }): JSX.Element => {
  const watched = useLive<TailView>("tail", { stream });
  const [held, setHeld] = useState<TailView | null>(null);
  const shown = held === null ? watched : { view: held, problem: null };
  return (
    <Page title={stream} crumbs={[{ text: "Overview", href: href([]) }]}>
      <StreamTabs stream={stream} at="tail" />
      <Shown watched={shown}>
        {(view) => (
          <>
            <p class="tail-head">
              <button type="button" aria-pressed={held !== null} onClick={() => setHeld(held === null ? view : null)}>
                {held === null ? "Hold" : "Go on"}
              </button>
              <span class="muted number">{status(view, held !== null)}</span>
            </p>
            {view.events.length === 0 ? (
              <Empty title="Waiting for the first event" />
            ) : (
              <EventTable caption="The newest events" events={view.events} />
            )}
          </>
        )}
      </Shown>
    </Page>
  );
};

const status = ({ seen, skipped }: TailView, isHeld: boolean): string => {
  if (isHeld) return "Held: events go on coming, this list stays.";
  const missed = skipped > 0 ? `, ${count(skipped)} of them too fast to be shown` : "";
  return `Newest first. ${count(seen)} came since somebody watches${missed}.`;
};
