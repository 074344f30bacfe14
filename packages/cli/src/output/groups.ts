/** Groups as text, for `groups` and `top`. */
import type { GroupInfo } from "@rheo/core";
import { count, duration } from "./format.ts";
import type { Screen } from "./screen.ts";
import type { Column } from "./table.ts";

/** A number that calls for a look when it is not 0. */
export const alarming = (text: string, number: number, { colors }: Screen): string => (number > 0 ? colors.red(text) : text);

/** How old the oldest event is that is not settled. */
const oldestAge = ({ oldestUnsettledAt }: Pick<GroupInfo, "oldestUnsettledAt">, nowMs: number): string | null =>
  oldestUnsettledAt === null ? null : duration(Math.max(0, nowMs - oldestUnsettledAt.getTime()));

type Standing = Pick<GroupInfo, "lag" | "inflight" | "retrying" | "deadLetters" | "members" | "oldestUnsettledAt" | "paused">;

export const lagColumn = ({ colors }: Screen): Column<Standing> => ({
  head: "LAG",
  value: ({ lag }) => count(lag),
  align: "right",
  paint: (text, { lag }) => (lag > 0 ? colors.yellow(text) : text),
});

/** Where a group stands, but for its lag. */
export const standingColumns = (screen: Screen): readonly Column<Standing>[] => [
  { head: "INFLIGHT", value: ({ inflight }) => count(inflight), align: "right" },
  { head: "RETRYING", value: ({ retrying }) => count(retrying), align: "right" },
  {
    head: "DEAD",
    value: ({ deadLetters }) => count(deadLetters),
    align: "right",
    paint: (text, { deadLetters }) => alarming(text, deadLetters, screen),
  },
  { head: "MEMBERS", value: ({ members }) => count(members.length), align: "right" },
  { head: "OLDEST", value: (group) => oldestAge(group, screen.nowMs), align: "right" },
  { head: "STATE", value: ({ paused }) => (paused ? "paused" : "active") },
];

export const groupColumns = (screen: Screen): readonly Column<GroupInfo>[] => [
  { head: "GROUP", value: ({ name }) => name },
  lagColumn(screen),
  ...standingColumns(screen),
];
