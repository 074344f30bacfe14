/** States in the reader's words. */
import type { JSX } from "preact";
import type { Delivery } from "../../src/views/delivery.ts";
import type { GroupState } from "../../src/views/overview.ts";
import { Badge, type Tone } from "./text.tsx";

const GROUP: Readonly<Record<GroupState, readonly [Tone, string, string]>> = {
  caught_up: ["ok", "caught up", "Every delivery is acked or dead."],
  working: ["busy", "working", "Members hold leases."],
  retrying: ["warn", "retrying", "Nothing is held; failed deliveries wait for their time."],
  waiting: ["warn", "waiting", "There is lag, and nothing is held at this moment."],
  unattended: ["bad", "no members", "There is lag, and nobody fetches."],
  paused: ["quiet", "paused", "Fetches return nothing until it is resumed."],
};

export const GroupBadge = ({ state }: { readonly state: GroupState | null }): JSX.Element => {
  if (state === null) return <span class="skeleton badge-size" />;
  const [tone, text, meaning] = GROUP[state];
  return (
    <span title={meaning}>
      <Badge tone={tone}>{text}</Badge>
    </span>
  );
};

type Shown = Pick<Delivery, "state" | "expired" | "parked">;

export const DeliveryBadge = ({ delivery }: { readonly delivery: Shown }): JSX.Element => {
  const [tone, text] = describe(delivery);
  return <Badge tone={tone}>{text}</Badge>;
};

const describe = ({ state, expired, parked }: Shown): readonly [Tone, string] => {
  switch (state) {
    case "pending":
      return parked ? ["quiet", "behind its key"] : ["quiet", "pending"];
    case "leased":
      return expired ? ["warn", "lease run out"] : ["busy", "leased"];
    case "retrying":
      return ["warn", "retrying"];
    case "dead":
      return ["bad", "dead"];
    case "acked":
      return ["ok", "settled"];
    default:
      return state satisfies never;
  }
};

const CHILD: Readonly<Record<string, Tone>> = {
  running: "ok",
  starting: "busy",
  draining: "busy",
  restarting: "warn",
  paused: "quiet",
  stopped: "quiet",
  failed: "bad",
};

export const ChildBadge = ({ state }: { readonly state: string }): JSX.Element => (
  <Badge tone={CHILD[state] ?? "quiet"}>{state}</Badge>
);
