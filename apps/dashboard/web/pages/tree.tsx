import type { JSX } from "preact";
import type { TreeView } from "../../src/views/tree.ts";
import { CodeBox } from "../parts/code-box.tsx";
import { Empty, Page, Shown } from "../parts/page.tsx";
import { ChildBadge } from "../parts/states.tsx";
import { Tree } from "../parts/tree.tsx";
import { useLive } from "../state/live.ts";

export const TreePage = (): JSX.Element => {
  const watched = useLive<TreeView>("tree", {});
  const state = watched.view?.state ?? null;
  return (
    <Page title="Supervision" aside={state !== null && <ChildBadge state={state} />}>
      <Shown watched={watched}>
        {(view) =>
          view.hasTree ? (
            <>
              <Tree nodes={view.children} />
              {view.isCut && <p class="muted">There are more parts than are shown.</p>}
            </>
          ) : (
            <NoTree />
          )
        }
      </Shown>
    </Page>
  );
};

const NoTree = (): JSX.Element => (
  <Empty title="This dashboard was not given a supervisor">
    <p>
      It reads the store, where all processes meet. What runs inside one process, only that process knows: serve the dashboard
      there, and hand it the supervisor.
    </p>
    <CodeBox
      label="Code to run elsewhere"
      note="In the process that consumes"
      text={"const app = await supervise({ rheo, consumers });\nconst { url } = await serveDashboard({ rheo, app });"}
    />
  </Empty>
);
