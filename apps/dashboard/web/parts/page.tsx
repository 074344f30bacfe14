/** What every page has: a title, the way back, and something to show while there is nothing, or when there is trouble. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { visible } from "../format.ts";
import type { Problem } from "../state/api.ts";
import type { Watched } from "../state/live.ts";
import { Stored } from "./text.tsx";

interface Crumb {
  readonly text: string;
  readonly href: string;
}

interface PageProps {
  readonly title: string;
  readonly crumbs?: readonly Crumb[];
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export const Page = ({ title, crumbs = [], aside, children }: PageProps): JSX.Element => {
  useEffect(() => {
    document.title = `${visible(title)} · Rheo`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        {crumbs.length > 0 && <Crumbs crumbs={crumbs} />}
        <div class="page-title">
          <h1 tabIndex={-1}>
            <Stored text={title} />
          </h1>
          {aside}
        </div>
      </header>
      {children}
    </>
  );
};

const Crumbs = ({ crumbs }: { readonly crumbs: readonly Crumb[] }): JSX.Element => (
  <nav aria-label="Breadcrumb">
    <ol class="crumbs">
      {crumbs.map(({ text, href }) => (
        <li key={href}>
          <a href={href}>
            <Stored text={text} />
          </a>
        </li>
      ))}
    </ol>
  </nav>
);

/** The view, once there is one; above it, why it is not the latest. */
export function Shown<View>({
  watched,
  children,
}: {
  readonly watched: Watched<View>;
  readonly children: (view: View) => JSX.Element;
}): JSX.Element {
  const { view, problem } = watched;
  return (
    <>
      {problem !== null && <Trouble problem={problem} isStale={view !== null} />}
      {view !== null && children(view)}
      {view === null && problem === null && <Skeleton />}
    </>
  );
}

const ADVICE: Partial<Record<Problem["code"], string>> = {
  unavailable: "It is asked again every few seconds. Check that the store and the process that serves this page are up.",
  busy: "It is tried again in a few seconds.",
  closed: "The process that serves this page is ending. Start it again.",
  stream_not_found: "It may have been deleted. The overview lists what there is.",
  group_not_found: "It may have been deleted. The overview lists what there is.",
  cursor_not_found: "Start again from the first page.",
};

export const Trouble = ({ problem, isStale = false }: { readonly problem: Problem; readonly isStale?: boolean }): JSX.Element => (
  <div class="trouble" role="alert">
    <p>
      <strong>{isStale ? "These figures are not the latest." : "This cannot be shown."}</strong> <Stored text={problem.message} />
    </p>
    {ADVICE[problem.code] !== undefined && <p class="muted">{ADVICE[problem.code]}</p>}
  </div>
);

const Skeleton = (): JSX.Element => (
  <div class="skeletons" role="status" aria-label="Loading">
    <span class="skeleton tall" />
    <span class="skeleton" />
    <span class="skeleton" />
    <span class="skeleton short" />
  </div>
);

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }): JSX.Element => (
  <div class="empty">
    <p>
      <strong>{title}</strong>
    </p>
    {children !== undefined && <div class="muted">{children}</div>}
  </div>
);

export const Section = ({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element => (
  <section class="section">
    <div class="section-head">
      <h2>{title}</h2>
      {aside}
    </div>
    {children}
  </section>
);
