import type { Attributes } from "@opentelemetry/api";
import type { Label } from "../catalogue/metric.ts";
import type { Labels } from "../labels.ts";

/** Names of attributes: those of the messaging conventions of OpenTelemetry where they have one. */
export const ATTRIBUTE = {
  system: "messaging.system",
  stream: "messaging.destination.name",
  partition: "messaging.destination.partition.id",
  group: "messaging.consumer.group.name",
  consumer: "messaging.client.id",
  operation: "messaging.operation.name",
  operationType: "messaging.operation.type",
  messageId: "messaging.message.id",
  messages: "messaging.batch.message_count",
  sequence: "rheo.sequence",
  attempt: "rheo.attempt",
  outcome: "rheo.outcome",
  error: "error.type",
} as const;

export const SYSTEM = "rheo";

const NAMES: Readonly<Partial<Record<Label, string>>> = {
  stream: ATTRIBUTE.stream,
  group: ATTRIBUTE.group,
  outcome: ATTRIBUTE.outcome,
};

/** Labels as attributes of metrics; made once for each set. */
export class AttributeSets {
  readonly #known = new Map<Labels, Attributes>();

  of(labels: Labels): Attributes {
    const known = this.#known.get(labels);
    if (known !== undefined) return known;
    const attributes: Attributes = { [ATTRIBUTE.system]: SYSTEM };
    for (const [label, value] of Object.entries(labels)) attributes[NAMES[label as Label] ?? `rheo.${label}`] = value;
    this.#known.set(labels, attributes);
    return attributes;
  }
}
