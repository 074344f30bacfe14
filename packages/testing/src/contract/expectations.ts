import { type Event, type Lease, RheoError, type RheoErrorCode, type StaleReason } from "@rheo/core";
import { expect } from "vitest";

/** The error with which a call was refused; fails if it was not, or with another code. */
export const refusal = async (call: Promise<unknown>, code: RheoErrorCode): Promise<RheoError> => {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!RheoError.is(error)) {
    expect.fail(
      error === null
        ? `expected the call to be refused as ${code}; it succeeded`
        : `expected ${code}; got ${error instanceof Error ? error.message : typeof error}`,
    );
  }
  expect(error.code, error.message).toBe(code);
  expect(error.message.length).toBeGreaterThan(10);
  return error;
};

/** Every one of the calls, which are under way already, is refused with that code. */
export const refusals = async (calls: readonly Promise<unknown>[], code: RheoErrorCode): Promise<RheoError[]> => {
  await Promise.allSettled(calls);
  return Promise.all(calls.map((call) => refusal(call, code)));
};

/** The call is refused as `stale_lease`, for one of the reasons given. */
export const stale = async (call: Promise<unknown>, ...whys: StaleReason[]): Promise<void> => {
  const error = await refusal(call, "stale_lease");
  expect(whys).toContain(error.details.why);
};

export const sequencesOf = (items: readonly { readonly sequence: number }[]): number[] => items.map((item) => item.sequence);

/** The one at `index`; fails when there is none. */
export const at = <Item>(items: readonly Item[], index: number): Item => {
  const item = items.at(index);
  if (item === undefined) expect.fail(`expected an item at ${index}, but there are ${items.length}`);
  return item;
};

export const placesOf = (items: readonly { readonly partition: number; readonly sequence: number }[]): string[] =>
  items.map(({ partition, sequence }) => `${partition}/${sequence}`);

/** Numbers in order. */
export const rising = (numbers: Iterable<number>): number[] => [...numbers].sort((a, b) => a - b);

/** 1, 2, 3 … `last`. */
export const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

/** An event's `n`, as `World.append` numbers them. */
export const numberOf = (event: Pick<Event, "payload"> | Lease): unknown => {
  const { payload } = "event" in event ? event.event : event;
  return typeof payload === "object" && payload !== null ? Reflect.get(payload, "n") : undefined;
};
