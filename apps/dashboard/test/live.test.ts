/** What those who watch are sent, and what it costs. */
import { FrozenClock, Rheo } from "@rheo/core";
import type { Dashboard } from "@rheo/dashboard";
import { memory } from "@rheo/memory";
import { expect, onTestFinished, test } from "vitest";
import { dashboardOf, request } from "./fixtures/ask.ts";

interface Message {
  readonly name: string;
  readonly body: { readonly atMs: number; readonly data?: Record<string, unknown>; readonly problem?: { readonly code: string } };
}

/** Reads server-sent events, one at a time. */
class Reader {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #rest = "";

  constructor(response: Response) {
    if (response.body === null) throw new TypeError("An answer with a body is expected.");
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next message that has data; null at the end. */
  async next(): Promise<Message | null> {
    for (;;) {
      const end = this.#rest.indexOf("\n\n");
      if (end >= 0) {
        const [, name, text] = /^event: (\w+)\ndata: (.*)$/.exec(this.#rest.slice(0, end)) ?? [];
        this.#rest = this.#rest.slice(end + 2);
        if (name !== undefined && text !== undefined) return { name, body: JSON.parse(text) as Message["body"] };
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#rest += value;
    }
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

/** A memory store that counts how often a stream is looked at. */
const open = async () => {
  const clock = new FrozenClock();
  const backend = memory();
  const reads = { count: 0 };
  const watermarks = backend.watermarks.bind(backend);
  backend.watermarks = (stream) => {
    reads.count += 1;
    return watermarks(stream);
  };
  const rheo = await Rheo.open({ backend, clock });
  await rheo.createStream("orders");
  reads.count = 0;
  return { rheo, clock, reads, dashboard: dashboardOf({ rheo }) };
};

const watch = async (dashboard: Dashboard, query: string): Promise<Reader> => {
  const reader = new Reader(await dashboard.fetch(request(`/api/live?${query}`)));
  onTestFinished(() => reader.cancel());
  return reader;
};

/** Lets what is under way finish, and moves the clock until the reader has something. */
const later = async (clock: FrozenClock, reader: Reader): Promise<Message | null> => {
  const next = reader.next();
  let isThere = false;
  void next.then(() => (isThere = true));
  const look = (): boolean => {
    if (!isThere) clock.advance(500);
    return isThere;
  };
  await expect.poll(look).toBe(true);
  return next;
};

/** Events in a message of a tail. */
const countOf = (message: Message | null): number => {
  const events = message?.body.data?.events;
  return Array.isArray(events) ? events.length : 0;
};

test("the view comes at once, then again when it has changed, else only the time", async () => {
  const { dashboard, clock, rheo } = await open();
  const reader = await watch(dashboard, "view=tail&stream=orders");
  expect((await reader.next())?.body.data).toMatchObject({ stream: "orders", events: [] });
  expect((await later(clock, reader))?.name).toBe("same");
  await rheo.append("orders", { payload: { total: 12 } });
  let message = await later(clock, reader);
  while (message?.name === "same") message = await later(clock, reader);
  expect(message?.body.data?.events).toMatchObject([{ sequence: 1, preview: '{"total":12}' }]);
});

test("a problem is told, and its end", async () => {
  const { dashboard, clock, rheo } = await open();
  const reader = await watch(dashboard, "view=tail&stream=later");
  expect((await reader.next())?.body.problem).toMatchObject({ code: "stream_not_found" });
  await rheo.createStream("later");
  let message = await later(clock, reader);
  while (message?.name !== "data") message = await later(clock, reader);
  expect(message.body.data).toMatchObject({ stream: "later" });
});

test("ten who watch the same cost one", async () => {
  const { dashboard, reads } = await open();
  const readers = await Promise.all(Array.from({ length: 10 }, () => watch(dashboard, "view=tail&stream=orders")));
  for (const reader of readers) expect((await reader.next())?.name).toBe("data");
  const ofOne = reads.count;
  for (let more = 0; more < 10; more++) await (await watch(dashboard, "stream=orders&view=tail")).next();
  expect(ofOne).toBe(2); // where the stream ends, and its latest events from there
  expect(reads.count).toBe(ofOne);
});

test("ten who ask for the same at once, or within a moment, cost one", async () => {
  const { dashboard, clock, reads } = await open();
  const ask = (): Promise<Response> => dashboard.fetch(request("/api/stream?stream=orders"));
  await ask(); // and the sampler's first look
  clock.advance(1_000);
  reads.count = 0;
  await Promise.all(Array.from({ length: 10 }, ask));
  await ask();
  expect(reads.count).toBe(1);
  clock.advance(1_000);
  await ask();
  expect(reads.count).toBe(2);
});

test("nothing is read once nobody watches", async () => {
  for (const view of ["overview", "tail&stream=orders"]) {
    const { dashboard, clock, reads } = await open();
    const gone = await watch(dashboard, `view=${view}`);
    await gone.cancel(); // while the first read is under way
    const reader = await watch(dashboard, `view=${view}`);
    await reader.next();
    await reader.cancel();
    await pass(clock, 60);
    const { count } = reads;
    await pass(clock, 60);
    expect(reads.count, view).toBe(count);
  }
});

/** Seconds go by, and each time what is due is done. */
const pass = async (clock: FrozenClock, seconds: number): Promise<void> => {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1_000);
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  }
};

test("who reads slowly gets the newest, not all", async () => {
  const { dashboard, clock, rheo } = await open();
  const slow = await watch(dashboard, "view=tail&stream=orders");
  const quick = await watch(dashboard, "view=tail&stream=orders");
  await quick.next();
  for (let n = 1; n <= 20; n++) {
    await rheo.append("orders", { payload: n });
    let message = await later(clock, quick);
    while (countOf(message) !== n) message = await later(clock, quick);
  }
  const seen: number[] = [];
  for (let message = await slow.next(); seen.at(-1) !== 20; message = await later(clock, slow))
    if (message?.name === "data") seen.push(countOf(message));
  expect(seen.length).toBeLessThan(5);
});

test("closing ends every stream, and turns away the next", async () => {
  const { dashboard } = await open();
  const reader = await watch(dashboard, "view=tail&stream=orders");
  await reader.next();
  await dashboard.close();
  expect(await reader.next()).toBeNull();
  expect((await dashboard.fetch(request("/api/live?view=overview"))).status).toBe(503);
});

test("viewers are bounded, and who leaves makes room", async () => {
  const { dashboard } = await open();
  const readers = await Promise.all(Array.from({ length: 250 }, () => watch(dashboard, "view=tree")));
  expect((await dashboard.fetch(request("/api/live?view=tree"))).status).toBe(503);
  await readers[0]?.cancel();
  expect((await dashboard.fetch(request("/api/live?view=tree"))).status).toBe(200);
});
