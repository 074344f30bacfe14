import type { DeliveryInfo } from "@rheo/core";
import { shortText } from "./event-text.ts";

/** Where a group stands with one event, times in ms. */
export interface Delivery {
  readonly partition: number;
  readonly sequence: number;
  readonly state: DeliveryInfo["state"];
  readonly expired: boolean;
  readonly parked: boolean;
  readonly attempt: number;
  readonly consumerId: string | null;
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
  readonly lastError: string | null;
}

const ERROR_CHARACTERS = 500;

export const deliveryOf = (info: DeliveryInfo): Delivery => ({
  partition: info.partition,
  sequence: info.sequence,
  state: info.state,
  expired: info.expired,
  parked: info.parked,
  attempt: info.attempt,
  consumerId: info.consumerId,
  sinceMs: info.since?.getTime() ?? null,
  untilMs: info.until?.getTime() ?? null,
  lastError: info.lastError === null ? null : shortText(info.lastError, ERROR_CHARACTERS),
});
