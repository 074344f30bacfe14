/**
 * Spans of deliveries whose events carry a `traceparent`: "deliver", from lease to settlement, in the trace of the append; and in it
 * "settle", the round trip that settled it. The others cost nothing, and a trace that is not sampled costs what its sampler does.
 */
import { type Attributes, ROOT_CONTEXT, type Span, SpanKind, type Tracer, trace } from "@opentelemetry/api";
import type { LeasedDeliveries, Rheo, RheoEventOf, SettledDeliveries } from "@rheo/core";
import { Held, heldKey } from "../deliveries/held.ts";
import { listen } from "../listening.ts";
import { ATTRIBUTE, SYSTEM } from "./attributes.ts";
import { fail } from "./failing.ts";
import { remoteContext, spanContextOf } from "./trace-context.ts";

/** Open spans at most. A span holds some hundred bytes, and what has not been settled for long may never be. */
const MOST_SPANS = 10_000;

export const deliverySpans = (rheo: Rheo, tracer: Tracer): (() => void) => {
  const spans = new DeliverySpans(tracer);
  const end = listen(rheo.events, {
    "delivery.leased": (event) => spans.leased(event),
    "delivery.settled": (event) => spans.settled(event),
    "lease.stale": (event) => spans.stale(event),
  });
  return () => {
    end();
    spans.end();
  };
};

class DeliverySpans {
  readonly #tracer: Tracer;
  readonly #open = new Held<Span>((span) => conclude(span, "unknown", true), MOST_SPANS);

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  leased({ stream, group, consumerId, grants }: RheoEventOf<"delivery.leased">): void {
    for (const grant of grants) {
      const spans = grant.traceparents.map((traceparent, at) => {
        if (traceparent === null) return undefined;
        return this.#start(traceparent, stream, attributesOf(stream, group, consumerId, grant, grant.sequences[at] ?? 0));
      });
      this.#open.put(heldKey(stream, group, grant.partition, grant.token), grant.sequences, spans);
    }
  }

  /** Undefined when it is not recorded: then there is nothing to end. */
  #start(traceparent: string, stream: string, attributes: Attributes): Span | undefined {
    const parent = spanContextOf(traceparent);
    if (parent === null) return undefined;
    const options = { kind: SpanKind.CONSUMER, attributes };
    const span = this.#tracer.startSpan(`deliver ${stream}`, options, remoteContext(parent));
    return span.isRecording() ? span : undefined;
  }

  settled({ stream, group, settled, tookMs }: RheoEventOf<"delivery.settled">): void {
    const endMs = Date.now();
    for (const settlement of settled) {
      const key = heldKey(stream, group, settlement.partition, settlement.token);
      for (const [at, sequence] of settlement.sequences.entries()) {
        const span = this.#open.take(key, sequence);
        if (span === undefined) continue;
        const state = settlement.states[at] ?? "stale";
        this.#settle(span, stream, group, state, endMs - tookMs, endMs);
        conclude(span, state === "pending" ? "released" : state, state !== "acked" && state !== "pending");
      }
    }
  }

  #settle(
    deliver: Span,
    stream: string,
    group: string,
    state: SettledDeliveries["states"][number],
    fromMs: number,
    toMs: number,
  ): void {
    const attributes = {
      [ATTRIBUTE.system]: SYSTEM,
      [ATTRIBUTE.stream]: stream,
      [ATTRIBUTE.group]: group,
      [ATTRIBUTE.operation]: OPERATION[state],
      [ATTRIBUTE.operationType]: "settle",
    };
    const options = { kind: SpanKind.CLIENT, attributes, startTime: fromMs };
    const span = this.#tracer.startSpan(`settle ${stream}`, options, trace.setSpan(ROOT_CONTEXT, deliver));
    if (state === "stale") fail(span, "stale_lease");
    span.end(toMs);
  }

  /** Refused a renewal: nothing will settle it here. */
  stale({ stream, group, partition, token, sequence }: RheoEventOf<"lease.stale">): void {
    const span = this.#open.take(heldKey(stream, group, partition, token), sequence);
    if (span !== undefined) conclude(span, "stale", true);
  }

  end(): void {
    this.#open.clear();
  }
}

/** By which call a delivery got into its state. */
const OPERATION = { acked: "ack", retrying: "nack", dead: "reject", pending: "release", stale: "settle" } as const;

const attributesOf = (
  stream: string,
  group: string,
  consumerId: string,
  { partition, attempt }: LeasedDeliveries,
  sequence: number,
): Attributes => ({
  [ATTRIBUTE.system]: SYSTEM,
  [ATTRIBUTE.stream]: stream,
  [ATTRIBUTE.partition]: String(partition),
  [ATTRIBUTE.group]: group,
  [ATTRIBUTE.consumer]: consumerId,
  [ATTRIBUTE.operation]: "deliver",
  [ATTRIBUTE.operationType]: "process",
  [ATTRIBUTE.sequence]: sequence,
  [ATTRIBUTE.attempt]: attempt,
});

const conclude = (span: Span, outcome: string, isFailure: boolean): void => {
  span.setAttribute(ATTRIBUTE.outcome, outcome);
  if (isFailure) fail(span, outcome);
  span.end();
};
