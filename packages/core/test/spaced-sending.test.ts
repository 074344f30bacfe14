import { SpacedSending } from "@rheo/core/internal";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const EVERY_MS = 5;
/** What was sent, and how to end the sending of each. */
const scene = (): { spaced: SpacedSending<string>; sent: string[]; ends: ((failed: boolean) => Promise<void>)[] } => {
  const sent: string[] = [];
  const ends: ((failed: boolean) => Promise<void>)[] = [];
  const send = (items: readonly string[]): Promise<void> =>
    new Promise((resolve, reject) => {
      sent.push(items.join(" "));
      ends.push(async (failed) => {
        if (failed) reject(new Error("lost"));
        else resolve();
        await vi.advanceTimersByTimeAsync(0);
      });
    });
  return { spaced: new SpacedSending({ send, everyMs: EVERY_MS }), sent, ends };
};
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the first is sent at once, and those that follow closely together, each once", async () => {
  const { spaced, sent, ends } = scene();
  spaced.add("a");
  expect(sent).toEqual(["a"]);
  for (const item of ["b", "c", "b"]) spaced.add(item);
  await ends[0]?.(false);
  expect(sent).toEqual(["a"]);
  await pass(EVERY_MS);
  expect(sent).toEqual(["a", "b c"]);
  await ends[1]?.(false);
  spaced.add("d");
  expect(sent).toEqual(["a", "b c"]); // the pause after those is not over
  await pass(EVERY_MS);
  expect(sent).toEqual(["a", "b c", "d"]);
  await ends[2]?.(false);
  await pass(EVERY_MS);
  spaced.add("e");
  expect(sent).toEqual(["a", "b c", "d", "e"]);
});

test("one message at a time, however long it takes, and one that is lost holds up nothing", async () => {
  const { spaced, sent, ends } = scene();
  spaced.add("a");
  await pass(10 * EVERY_MS);
  spaced.add("b");
  await pass(10 * EVERY_MS);
  expect(sent).toEqual(["a"]);
  await ends[0]?.(true);
  expect(sent).toEqual(["a", "b"]);
});

test("a change carries its news where nothing was sent for a while, and is followed by a pause", async () => {
  const { spaced, sent, ends } = scene();
  expect([spaced.mayCarry(), spaced.mayCarry()]).toEqual([true, false]);
  spaced.add("a");
  expect(sent).toEqual([]);
  await pass(EVERY_MS);
  expect([sent, spaced.mayCarry()]).toEqual([["a"], false]);
  await ends[0]?.(false);
  expect(spaced.mayCarry()).toBe(false);
  await pass(EVERY_MS);
  expect(spaced.mayCarry()).toBe(true);
});

test("an end drops what is unsent, and waits for what is being sent", async () => {
  const { spaced, sent, ends } = scene();
  spaced.add("a");
  spaced.add("b");
  let isOver = false;
  const stopped = spaced.stop().then(() => (isOver = true));
  await pass(10 * EVERY_MS);
  expect([isOver, sent]).toEqual([false, ["a"]]);
  await ends[0]?.(false);
  await stopped;
  await pass(10 * EVERY_MS);
  expect(sent).toEqual(["a"]);
  expect(vi.getTimerCount()).toBe(0);
});
