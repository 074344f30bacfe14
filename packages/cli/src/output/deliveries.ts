/** Where deliveries stand, as text. */
import type { DeliveryInfo } from "@rheo/core";
import { ago } from "./format.ts";
import type { Screen } from "./screen.ts";
import type { Column } from "./table.ts";

/** The state in a word or two. */
const stateText = ({ state, expired, parked }: DeliveryInfo): string => {
  if (expired) return "lease ran out";
  return parked ? "parked" : state;
};

/** What that state means for whoever waits for it. */
const paintState = (text: string, { state, expired }: DeliveryInfo, { colors }: Screen): string => {
  if (state === "dead" || expired) return colors.red(text);
  if (state === "retrying") return colors.yellow(text);
  return state === "acked" ? colors.green(text) : text;
};

export const deliveryColumns = (screen: Screen): readonly Column<DeliveryInfo>[] => [
  { head: "STATE", value: stateText, paint: paintState },
  { head: "ATTEMPT", value: ({ attempt }) => attempt, align: "right" },
  { head: "HOLDER", value: ({ consumerId }) => consumerId, yields: "next" },
  { head: "SINCE", value: ({ since }) => (since === null ? null : ago(since, screen.nowMs)) },
  { head: "UNTIL", value: ({ until }) => (until === null ? null : ago(until, screen.nowMs)) },
  { head: "LAST ERROR", value: ({ lastError }) => lastError, yields: "first" },
];
