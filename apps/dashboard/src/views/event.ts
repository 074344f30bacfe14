/** One event: its content, and where every group stands with it. */
import type { Event, EventHistory } from "@rheo/core";
import { ProblemError } from "../http/problem.ts";
import { type Delivery, deliveryOf } from "./delivery.ts";
import { type EventLine, eventLine, type LongText, payloadText } from "./event-text.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";

export interface EventContent extends Omit<EventLine, "preview"> {
  /** By name; values as JSON. */
  readonly metadata: readonly (readonly [string, string])[];
  readonly payload: LongText;
}

export interface EventView {
  readonly event: EventContent;
  readonly groups: readonly GroupDelivery[];
  readonly groupCount: number;
}

export type GroupDelivery = Delivery & { readonly group: string };

/** Groups that are listed. */
const MOST_GROUPS = 200;

export const event: View = {
  everyMs: 2_000,
  isHeavy: false,
  prepare: (params: Params, { rheo }: Sources) => {
    const stream = params.required("stream");
    const id = params.required("id");
    return async (): Promise<EventView> => {
      const history = await rheo.eventHistory(stream, id);
      if (history === null)
        throw new ProblemError("not_found", `Stream "${stream}" has no event "${id}". It may have been trimmed.`);
      return { event: contentOf(history.event), ...groupsOf(history) };
    };
  },
};

export const groupsOf = ({ groups }: EventHistory): Pick<EventView, "groups" | "groupCount"> => ({
  groups: groups.slice(0, MOST_GROUPS).map((info) => ({ group: info.group, ...deliveryOf(info) })),
  groupCount: groups.length,
});

export const contentOf = (read: Event): EventContent => {
  const { preview: _preview, ...line } = eventLine(read);
  const metadata = Object.entries(read.metadata).map(([name, value]) => [name, JSON.stringify(value)] as const);
  return { ...line, metadata, payload: payloadText(read) };
};
