import { ago, count, duration, rate } from "../output/format.ts";
import { lagColumn, standingColumns } from "../output/groups.ts";
import type { Screen } from "../output/screen.ts";
import { type Column, table } from "../output/table.ts";
import type { TopRow } from "./rates.ts";
import type { TopState } from "./state.ts";

/** The table of groups, and below it the members of the one that is marked, if they are to be seen. */
export const topText = (screen: Screen, rows: readonly TopRow[], state: TopState): string => {
  if (rows.length === 0) return "There is no group.";
  const marked = rows[state.selected];
  const groups = table(screen, columns(screen, marked), rows);
  return state.isOpen && marked !== undefined ? `${groups}\n\n${membersText(screen, marked)}` : groups;
};

/** Of all groups, for the first line. */
export const topHead = (rows: readonly TopRow[], { sort, isHeld }: TopState, nowMs: number): string => {
  const sum = (of: (row: TopRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const members = new Set(rows.flatMap((row) => row.members.map(({ consumerId }) => consumerId)));
  return [
    `${new Date(nowMs).toISOString()}${isHeld ? " held" : ""}`,
    `lag ${count(sum(({ lag }) => lag))}`,
    `in flight ${count(sum(({ inflight }) => inflight))}`,
    `dead ${count(sum(({ deadLetters }) => deadLetters))}`,
    `members ${count(members.size)}`,
    `by ${sort} (s)`,
    "hold (p)",
    "members (enter)",
    "quit (q)",
  ].join("  ");
};

const columns = (screen: Screen, marked: TopRow | undefined): readonly Column<TopRow>[] => [
  { head: "", value: (row) => (row === marked ? ">" : "") },
  { head: "STREAM", value: ({ stream }) => stream, paint: (text, row) => (row === marked ? screen.colors.bold(text) : text) },
  { head: "GROUP", value: ({ group }) => group, paint: (text, row) => (row === marked ? screen.colors.bold(text) : text) },
  lagColumn(screen),
  { head: "IN", value: ({ appendedPerSecond }) => speed(appendedPerSecond), align: "right" },
  { head: "OUT", value: ({ settledPerSecond }) => speed(settledPerSecond), align: "right" },
  { head: "LEFT", value: timeLeft, align: "right" },
  ...standingColumns(screen),
];

const speed = (perSecond: number | null): string | null => (perSecond === null ? null : rate(perSecond));

/** Until it has caught up, if both rates stay; nothing when it does not get nearer. */
const timeLeft = ({ lag, appendedPerSecond, settledPerSecond }: TopRow): string | null => {
  const gain = (settledPerSecond ?? 0) - (appendedPerSecond ?? 0);
  return lag === 0 || gain <= 0 ? null : duration((lag * 1_000) / gain);
};

const membersText = (screen: Screen, { members }: TopRow): string =>
  members.length === 0
    ? "No member has fetched lately."
    : table(
        screen,
        [
          { head: "MEMBER", value: ({ consumerId }) => consumerId, yields: "next" },
          { head: "LEASES", value: ({ leases }) => count(leases), align: "right" },
          { head: "LAST SEEN", value: ({ lastSeenAt }) => ago(lastSeenAt, screen.nowMs) },
        ],
        members,
      );
