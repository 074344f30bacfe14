import { randomBytes } from "node:crypto";
import {
  type Backend,
  type ExchangeAnswer,
  type ExchangeRequest,
  type RenewAnswer,
  type RenewRequest,
  RheoError,
} from "@rheo/core";
import { overlay } from "../overlay.ts";
import { nowMicros, type Recorder, type SoakRecord } from "./record.ts";

/** A store whose exchanges and renewals are written down. It is open already: opening it again does nothing. */
export const recorded = (store: Backend, recorder: Recorder, close: () => Promise<void>): Backend => {
  const process = randomBytes(6).toString("hex");
  let calls = 0;
  return overlay(store, {
    open: async () => undefined,
    close,
    exchange: async (request) => {
      const call = `${process}-${++calls}`;
      recorder.write(asked(call, request));
      try {
        const answer = await store.exchange(request);
        recorder.write(answered(call, answer));
        return answer;
      } catch (error) {
        recorder.write({ kind: "failed", call, at: nowMicros(), mayBeApplied: !RheoError.is(error, "unavailable") });
        throw error;
      }
    },
    renew: async (request) => {
      const askedAt = nowMicros();
      const answer = await store.renew(request);
      recorder.write(renewed(request, answer, askedAt));
      return answer;
    },
  });
};

const asked = (call: string, { group, fetch, settlements }: ExchangeRequest): SoakRecord => ({
  kind: "asked",
  call,
  at: nowMicros(),
  wallMs: Date.now(),
  group,
  fetches: fetch !== null,
  settlements: settlements.map(({ partition, token, sequences, outcome }) => ({
    partition,
    token,
    sequences,
    outcome: outcome.kind,
    delayMs: outcome.kind === "retry" ? outcome.delayMs : 0,
  })),
});

const answered = (call: string, { settled, grants, died }: ExchangeAnswer): SoakRecord => ({
  kind: "answered",
  call,
  at: nowMicros(),
  settled: settled.map((results) =>
    results.map((result) => (result.state === "stale" ? (`stale:${result.why}` as const) : result.state)),
  ),
  grants: grants.map(({ partition, token, attempt, leasedAtMs, expiresAtMs, events }) => ({
    partition,
    token,
    attempt,
    leasedAtMs,
    expiresAtMs,
    sequences: events.map(({ sequence }) => sequence),
  })),
  died: died.map(({ partition, sequence }) => ({ partition, sequence })),
});

const renewed = (
  { group, items }: RenewRequest,
  { stale, expiresAtMs, kept = [] }: RenewAnswer,
  askedAt: number,
): SoakRecord => ({
  kind: "renewed",
  askedAt,
  at: nowMicros(),
  group,
  items: items.map(({ partition, token, sequences }, item) => ({
    partition,
    token,
    sequences,
    expiresAtMs: sequences.map(
      (_, position) =>
        stale[item]?.[position] ?? kept.find((one) => one.item === item && one.position === position)?.expiresAtMs ?? expiresAtMs,
    ),
  })),
});
