import { Rheo } from "@rheo/core";
import { createDashboard } from "@rheo/dashboard";
import { Hand } from "./hand.ts";
import { createApp, DASHBOARD_PATH } from "./http/app.ts";
import { loadPages } from "./http/pages.ts";
import { serve } from "./http/server.ts";
import { Fleet } from "./members/fleet.ts";
import { Guard } from "./members/guard-process.ts";
import { narrate } from "./narrate.ts";
import { Narration } from "./narration.ts";
import { openPlace } from "./place.ts";
import { Publisher } from "./publisher.ts";
import { openStage } from "./stage.ts";
import { Tour } from "./tour/tour.ts";

export interface PlaygroundOptions {
  /** 0: a free one. */
  readonly port: number;
  /** Null: a temporary SQLite file. */
  readonly store: string | null;
  /** Ends it when it aborts. */
  readonly signal: AbortSignal;
  readonly opened: (at: { readonly url: string; readonly store: string }) => void;
}

/**
 * Serves a playground until the signal aborts; then nothing of it is left: no process, no file, no stream.
 * @throws UsageError - the store is not shared by processes, or the port cannot be had
 * @throws RheoError - the store cannot be opened
 */
export const runPlayground = async ({ port, store, signal, opened }: PlaygroundOptions): Promise<void> => {
  await using place = await openPlace(store);
  await using guard = new Guard(place.folder);
  await using rheo = await Rheo.open(place.url, { name: "playground" });
  await using stage = await openStage(rheo, place);
  const narration = new Narration();
  narrate(rheo, (saying) => narration.say("playground", saying));
  using publisher = new Publisher(stage, (error) =>
    narration.say("playground", { tone: "bad", text: `could not publish: ${String(error)}` }),
  );
  await using fleet = new Fleet({ place, stage, guard, narration });
  using hand = new Hand(stage, publisher, (saying) => narration.say("playground", saying));
  await using tour = await Tour.open();
  await using dashboard = createDashboard({ rheo, basePath: DASHBOARD_PATH, app: fleet, frameAncestors: "self" });
  const playground = { place, stage, narration, publisher, fleet, hand, tour };
  await using served = await serve(createApp({ playground, dashboard, pages: await loadPages() }), port);
  opened({ url: served.url, store: place.shownUrl });
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
};
