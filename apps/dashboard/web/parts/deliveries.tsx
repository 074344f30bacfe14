import type { JSX } from "preact";
import type { Delivery } from "../../src/views/delivery.ts";
import type { GroupDelivery } from "../../src/views/event.ts";
import { groupHref, href } from "../state/route.ts";
import { DeliveryBadge } from "./states.tsx";
import { type Column, Table } from "./table.tsx";
import { Ago, Nothing, Stored, Until } from "./text.tsx";

/** Where each group stands with one event. */
export const Deliveries = ({
  stream,
  eventId,
  groups,
}: {
  readonly stream: string;
  readonly eventId: string;
  readonly groups: readonly GroupDelivery[];
}): JSX.Element => {
  const columns: readonly Column<GroupDelivery>[] = [
    {
      title: "Group",
      cell: ({ group }) => (
        <a data-row href={groupHref(stream, group)}>
          <Stored text={group} />
        </a>
      ),
    },
    {
      title: "State",
      cell: (delivery) =>
        delivery.state === "dead" ? (
          <a href={href(["streams", stream, "groups", delivery.group, "dead-letters", eventId])}>
            <DeliveryBadge delivery={delivery} />
          </a>
        ) : (
          <DeliveryBadge delivery={delivery} />
        ),
    },
    { title: "Attempt", isNumber: true, cell: ({ attempt }) => (attempt === 0 ? <Nothing /> : attempt) },
    { title: "Holder", cell: ({ consumerId }) => (consumerId === null ? <Nothing /> : <Stored text={consumerId} />) },
    { title: "Since", isNumber: true, cell: ({ sinceMs }) => <Ago atMs={sinceMs} /> },
    { title: "Until", isNumber: true, cell: (delivery) => <DeliveryEnd delivery={delivery} /> },
    { title: "Last error", cell: ({ lastError }) => (lastError === null ? <Nothing /> : <Stored text={lastError} />) },
  ];
  return (
    <Table caption="Where every group stands with this event" columns={columns} rows={groups} keyOf={({ group }) => group} />
  );
};

const DeliveryEnd = ({ delivery: { state, untilMs } }: { readonly delivery: Delivery }): JSX.Element =>
  untilMs === null ? <Nothing /> : <Until atMs={untilMs} over={state === "retrying" ? "due" : "run out"} />;

/** What holds a frontier, in a line. */
export const HolderLine = ({ holder }: { readonly holder: Delivery | null }): JSX.Element => {
  if (holder === null) return <span class="muted">nothing: all is settled</span>;
  const { sequence, attempt, consumerId, sinceMs, untilMs, lastError } = holder;
  return (
    <span class="holder">
      <span>
        <span class="number">{sequence.toLocaleString("en")}</span> <DeliveryBadge delivery={holder} />
        {attempt > 0 && ` attempt ${attempt}`}
        {consumerId !== null && consumerId !== "" && (
          <>
            {" "}
            by <Stored text={consumerId} />
          </>
        )}
        {sinceMs !== null && (
          <>
            {", for "}
            <Ago atMs={sinceMs} />
          </>
        )}
        {untilMs !== null && (
          <>
            {holder.state === "retrying" ? ", again " : ", runs out "}
            <Until atMs={untilMs} over={holder.state === "retrying" ? "when fetched" : "now"} />
          </>
        )}
      </span>
      {lastError !== null && (
        <span class="last-error">
          <Stored text={lastError} />
        </span>
      )}
    </span>
  );
};
