import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { AboutView } from "../src/views/about.ts";
import { DeadLetterPage } from "./pages/dead-letter.tsx";
import { DeadLettersPage } from "./pages/dead-letters.tsx";
import { EventPage } from "./pages/event.tsx";
import { EventsPage } from "./pages/events.tsx";
import { GroupPage } from "./pages/group.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { StreamPage } from "./pages/stream.tsx";
import { TailPage } from "./pages/tail.tsx";
import { TreePage } from "./pages/tree.tsx";
import { Empty, Page } from "./parts/page.tsx";
import { Stored } from "./parts/text.tsx";
import { isLocked, signOut } from "./state/api.ts";
import { connection } from "./state/live.ts";
import { useOnce } from "./state/once.ts";
import { href, route } from "./state/route.ts";
import { switchTheme, theme } from "./state/theme.ts";

export const App = (): JSX.Element => {
  const main = useRef<HTMLElement>(null);
  const place = route.value.path.join("/");
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) main.current?.querySelector("h1")?.focus();
    isFirst.current = false;
    window.scrollTo(0, 0);
  }, [place]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <TopBar />
      <main id="main" ref={main} tabIndex={-1}>
        {isLocked.value ? <SignInPage /> : <CurrentPage key={place} />}
      </main>
      <footer class="muted">
        Read-only: it looks, and never settles. <span class="keys">Keys: / find · j k rows</span>
      </footer>
    </>
  );
};

const TopBar = (): JSX.Element => {
  const about = useOnce<AboutView>("about", isLocked.value ? null : {});
  const { path } = route.value;
  return (
    <header class="top">
      <a class="brand" href={href([])}>
        <span class="logo" aria-hidden="true" />
        Rheo
        {about.view !== null && (
          <span class="muted">
            <Stored text={about.view.instance} />
          </span>
        )}
      </a>
      <nav aria-label="Main">
        <a class="tab" href={href([])} aria-current={path.length === 0 ? "page" : undefined}>
          Overview
        </a>
        <a class="tab" href={href(["tree"])} aria-current={path[0] === "tree" ? "page" : undefined}>
          Supervision
        </a>
      </nav>
      <Connection />
      <button type="button" class="quiet-button" onClick={switchTheme}>
        Theme: {theme.value}
      </button>
      {about.view?.hasToken === true && !isLocked.value && (
        <button type="button" class="quiet-button" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </header>
  );
};

const CONNECTION = { connecting: "connecting", live: "live", lost: "not connected, trying again" } as const;

const Connection = (): JSX.Element => (
  <span class={`connection ${connection.value ?? "none"}`} role="status">
    {connection.value === null ? "" : CONNECTION[connection.value]}
  </span>
);

const CurrentPage = (): JSX.Element => {
  const [first, stream, kind, name, deadLetters, id, ...rest] = route.value.path;
  if (first === undefined) return <OverviewPage />;
  if (first === "tree" && stream === undefined) return <TreePage />;
  if (first !== "streams" || stream === undefined || rest.length > 0) return <NoPage />;
  if (kind === undefined) return <StreamPage stream={stream} />;
  if (kind === "tail" && name === undefined) return <TailPage stream={stream} />;
  if (kind === "events" && name === undefined) return <EventsPage stream={stream} />;
  if (kind === "events" && name !== undefined && deadLetters === undefined) return <EventPage stream={stream} id={name} />;
  if (kind !== "groups" || name === undefined) return <NoPage />;
  if (deadLetters === undefined) return <GroupPage stream={stream} group={name} />;
  if (deadLetters !== "dead-letters") return <NoPage />;
  return id === undefined ? (
    <DeadLettersPage stream={stream} group={name} />
  ) : (
    <DeadLetterPage stream={stream} group={name} id={id} />
  );
};

const NoPage = (): JSX.Element => (
  <Page title="There is no such page">
    <Empty title="The address leads nowhere">
      <a href={href([])}>To the overview</a>
    </Empty>
  </Page>
);
