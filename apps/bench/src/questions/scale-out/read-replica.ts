/** Searches beside consumption: on the server that consumers use, or on a standby of it. */
import { Rheo } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { defineConsumer, supervise } from "@rheo/runtime";
import { startPostgres } from "@rheo/testing/servers";
import { backlog, GROUP, STREAM, secondsToAck } from "../../backlog.ts";
import { milliseconds, type Question, rate, type Sample } from "../../question.ts";
import { median } from "../../results/statistics.ts";
import type { ServerPlace } from "../../systems.ts";

const HANDLER = new URL("../../handlers/add.js", import.meta.url);
/** Searches at the same time. */
const SEARCHERS = 2;

type Where = "nowhere" | "at the server" | "at a standby";

interface Search {
  readonly rheo: Rheo;
  readonly close: () => Promise<void>;
}

/** An instance that reads only. */
const openSearch = async ({ url, name }: ServerPlace, where: Where): Promise<Search | null> => {
  if (where === "nowhere") return null;
  const standby = where === "at a standby" ? await startPostgres({}, url) : null;
  const backend = postgres({ url: standby?.url ?? url, schema: name, notify: false });
  const rheo = await Rheo.open({ backend, migrate: false });
  const close = async (): Promise<void> => {
    await rheo.close();
    await standby?.stop();
  };
  return { rheo, close };
};

/** Searches one after another until it is over. Their times in ms. */
const searchUntil = async ({ rheo }: Search, isOver: () => boolean): Promise<readonly number[]> => {
  const taken: number[] = [];
  while (!isOver()) {
    const startMs = performance.now();
    await rheo.query(STREAM, { where: { "payload.tenant": `tenant-${taken.length % 97}` }, limit: 100, order: "desc" });
    taken.push(performance.now() - startMs);
  }
  return taken;
};

const question = (where: Where): Question => ({
  name: "scale-out",
  title: `PostgreSQL, a drain with searches ${where}`,
  mostRuns: 2,
  fits: ({ name }) => name === "postgres",
  ask: async (system, { events }): Promise<readonly Sample[]> => {
    const opened = await system.open();
    if (opened.place.kind !== "server") throw new RangeError("a standby is of a server");
    await backlog(opened, { events, partitions: 4 });
    const search = await openSearch(opened.place, where);
    let isOver = false;
    const searching = search === null ? [] : Array.from({ length: SEARCHERS }, () => searchUntil(search, () => isOver));
    const taking = secondsToAck(opened.rheo, events);
    const options = { stream: STREAM, group: GROUP, handler: HANDLER, execution: "inline", concurrency: 64 } as const;
    const app = await supervise({ rheo: opened.rheo, consumers: [defineConsumer(options)] });
    const seconds = await taking;
    isOver = true;
    const taken = (await Promise.all(searching)).flat();
    await app.stop();
    await search?.close();
    await opened.close();
    const parameters = { searches: where };
    const drained = rate("drain inline beside searches", system, events, seconds, parameters);
    return taken.length === 0
      ? [drained]
      : [drained, milliseconds("a search beside a drain, median", system, median(taken), parameters)];
  },
});

export const readReplicas: readonly Question[] = (["nowhere", "at the server", "at a standby"] as const).map(question);
