import type { GroupInfo, ResolvedGroupOptions, StreamInfo } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { type Field, fields } from "../output/fields.ts";
import { ago, count, duration, instant } from "../output/format.ts";
import type { Screen } from "../output/screen.ts";
import { type Column, table } from "../output/table.ts";
import { reading, type View } from "../session/reading.ts";

/** `rheo info`: everything about a group, or about a stream. */
export const info: CliCommand = reading({
  usage: "info <stream> [group]",
  summary: "everything about a group, or about a stream",
  isWatchable: true,
  look: async ({ rheo }, [stream = "", group]) =>
    group === undefined ? ofStream(await rheo.streamInfo(stream)) : ofGroup(await rheo.groupInfo(stream, group)),
});

const ofStream = (found: StreamInfo): View => ({
  data: found,
  text: (screen) =>
    `${fields(screen, [
      ["stream", found.name],
      ["partitions", found.partitions.length],
      ["events", count(found.events)],
      ["created", `${instant(found.createdAt)} (${ago(found.createdAt, screen.nowMs)})`],
    ])}\n\n${table(screen, partitionColumns, found.partitions)}`,
});

const partitionColumns: readonly Column<StreamInfo["partitions"][number]>[] = [
  { head: "PARTITION", value: ({ partition }) => partition, align: "right" },
  { head: "FIRST", value: ({ firstSequence }) => count(firstSequence), align: "right" },
  { head: "LAST", value: ({ highWatermark }) => count(highWatermark), align: "right" },
  { head: "EVENTS", value: ({ events }) => count(events), align: "right" },
];

const ofGroup = (found: GroupInfo): View => ({
  data: found,
  text: (screen) => {
    const top = fields(screen, [...stateOf(found, screen), ...optionsOf(found.options)]);
    if (found.members.length === 0) return `${top}\n\nNo member has fetched lately.`;
    return `${top}\n\n${table(screen, memberColumns(screen), found.members)}`;
  },
});

const stateOf = (found: GroupInfo, { nowMs }: Screen): readonly Field[] => [
  ["stream", found.stream],
  ["group", found.name],
  ["state", found.paused ? "paused" : "active"],
  ["lag", count(found.lag)],
  ["inflight", count(found.inflight)],
  ["retrying", count(found.retrying)],
  ["dead letters", count(found.deadLetters)],
  ["oldest unsettled", found.oldestUnsettledAt && `${instant(found.oldestUnsettledAt)} (${ago(found.oldestUnsettledAt, nowMs)})`],
  ["created", `${instant(found.createdAt)} (${ago(found.createdAt, nowMs)})`],
];

const optionsOf = ({ maxAttempts, leaseMs, ordering, retry, filter, maxInflight }: ResolvedGroupOptions): readonly Field[] => [
  ["max attempts", maxAttempts],
  ["lease", duration(leaseMs)],
  ["ordering", ordering],
  ["retry", `${duration(retry.minMs)} to ${duration(retry.maxMs)}, factor ${retry.factor}, jitter ${retry.jitter}`],
  ["filter", filter && JSON.stringify(filter)],
  ["max inflight", maxInflight === null ? null : count(maxInflight)],
];

const memberColumns = (screen: Screen): readonly Column<GroupInfo["members"][number]>[] => [
  { head: "MEMBER", value: ({ consumerId }) => consumerId, yields: "next" },
  { head: "LEASES", value: ({ leases }) => count(leases), align: "right" },
  { head: "LAST SEEN", value: ({ lastSeenAt }) => ago(lastSeenAt, screen.nowMs) },
];
