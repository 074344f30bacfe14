import type { DeliveryInfo, Event, EventHistory } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { deliveryColumns } from "../output/deliveries.ts";
import { fields } from "../output/fields.ts";
import { ago, instant } from "../output/format.ts";
import { inert } from "../output/inert.ts";
import type { Screen } from "../output/screen.ts";
import { type Column, table } from "../output/table.ts";
import { noSuchEvent } from "../session/no-such-event.ts";
import { reading } from "../session/reading.ts";

/** `rheo event`: one event, and where every group stands with it. */
export const event: CliCommand = reading({
  usage: "event <stream> <id>",
  summary: "one event, and where every group stands with it",
  look: async ({ rheo }, [stream = "", id = ""]) => {
    const history = await rheo.eventHistory(stream, id);
    if (history === null) throw noSuchEvent(stream, id);
    return { data: history, text: (screen) => textOf(screen, history) };
  },
});

const textOf = (screen: Screen, { event, groups }: EventHistory): string => {
  const group: Column<DeliveryInfo & { readonly group: string }> = { head: "GROUP", value: ({ group }) => group };
  const stands = groups.length === 0 ? "The stream has no group." : table(screen, [group, ...deliveryColumns(screen)], groups);
  return `${eventFields(screen, event)}\n\n${payloadText(event)}\n\n${stands}`;
};

const eventFields = (screen: Screen, event: Event): string =>
  fields(screen, [
    ["id", event.id],
    ["stream", event.stream],
    ["partition", event.partition],
    ["sequence", event.sequence],
    ["timestamp", `${instant(event.timestamp)} (${ago(event.timestamp, screen.nowMs)})`],
    ["type", event.type],
    ["key", event.key],
    ...Object.entries(event.metadata).map(([name, value]) => [`metadata ${name}`, String(value)] as const),
  ]);

/** Whole, over several lines: it is what one came for. */
const payloadText = ({ payload }: Event): string => JSON.stringify(payload, null, 2).split("\n").map(inert).join("\n");
