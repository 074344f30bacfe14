/** The same drain where something makes it hard: a deep backlog, a transaction that keeps dead rows alive, retries, an event that is stuck. */
import { retry } from "@rheo/core";
import { type ConsumerOptions, defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import pg from "pg";
import { backlog, depthOf, GROUP, STREAM, secondsToAck } from "../backlog.ts";
import { CONCURRENCY } from "../draining.ts";
import { type Parameters, type Question, rate, type Scale } from "../question.ts";
import type { Opened, Place, System } from "../systems.ts";

const MODULE = new URL("../handlers/add.js", import.meta.url);
/** One in so many is given back at first. */
const NACK_EVERY = 10;
/** Handlers that do not end are given up after so long, in ms. */
const STOP_MS = 100;

interface Hardship {
  /** Events that are there. */
  readonly events: number;
  /** Acks that are waited for. */
  readonly acks: number;
  readonly handler: ConsumerOptions["handler"];
}

const drain = async (system: System, { events, acks, handler: given }: Hardship, before: Before): Promise<number> => {
  const opened = await system.open();
  await backlog(opened, { events });
  await opened.rheo.updateGroup(STREAM, GROUP, { retry: { minMs: 1, maxMs: 1 } });
  const after = await before(opened);
  const taken = secondsToAck(opened.rheo, acks);
  const consumer = defineConsumer({
    stream: STREAM,
    group: GROUP,
    handler: given,
    execution: "inline",
    concurrency: CONCURRENCY,
  });
  const app = await supervise({ rheo: opened.rheo, consumers: [consumer], stopTimeoutMs: STOP_MS });
  const seconds = await taken;
  await app.stop();
  await after();
  await opened.close();
  return seconds;
};

/** Done with the backlog there, before the drain; gives what is done after it. */
type Before = (opened: Opened) => Promise<() => Promise<void>>;
const nothing: Before = async () => async () => undefined;

/** A transaction that has read and stays open: whatever dies meanwhile cannot be removed. */
const pinned: Before = async ({ place }) => {
  const client = new pg.Client({ connectionString: urlOf(place) });
  await client.connect();
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await client.query("SELECT count(*) FROM pg_class");
  return async () => {
    await client.query("ROLLBACK");
    await client.end();
  };
};

const urlOf = (place: Place): string => {
  if (place.kind !== "server") throw new RangeError("a transaction stays open on a server only");
  return place.url;
};

const nackSome = handler((event, { attempt }) =>
  attempt === 1 && event.sequence % NACK_EVERY === 0 ? retry("again") : undefined,
);

/** The first event of all is never done with. */
const holdFirst = handler((event) => (event.sequence === 1 ? new Promise<undefined>(() => undefined) : undefined));

const question = (
  what: string,
  hardship: (scale: Scale) => Hardship,
  parameters: (hardship: Hardship) => Parameters,
  rest: Partial<Question> & { readonly before?: Before } = {},
): Question => {
  const { before = nothing, ...more } = rest;
  return {
    name: "hardships",
    title: `drain inline, ${what}`,
    mostRuns: 2,
    ...more,
    ask: async (system, scale) => {
      const given = hardship({ ...scale, deep: depthOf(system, scale.deep) });
      const seconds = await drain(system, given, before);
      return [rate(`drain inline, ${what}`, system, given.acks, seconds, parameters(given))];
    },
  };
};

/** They are beside one another, so each is to last: so many times the events of a backlog. */
const LONGER = 3;
const usual = ({ events }: Scale): Hardship => ({ events: LONGER * events, acks: LONGER * events, handler: MODULE });
const deep = ({ events, deep: depth }: Scale): Hardship => ({
  events: Math.max(LONGER * events, depth),
  acks: LONGER * events,
  handler: MODULE,
});
const events = (hardship: Hardship): Parameters => ({ backlog: hardship.events });

export const hardships: readonly Question[] = [
  question("nothing in the way", usual, events),
  question("the first of a deep backlog", deep, events),
  question("a transaction elsewhere stays open", usual, events, { before: pinned, fits: ({ name }) => name === "postgres" }),
  question("1 in 10 given back once", (scale) => ({ ...usual(scale), handler: nackSome }), events),
  question("the first event is stuck", ({ deep: depth }) => ({ events: depth, acks: depth - 1, handler: holdFirst }), events),
];
