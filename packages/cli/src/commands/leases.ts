import type { LeaseInfo } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { wholeNumber } from "../options/numbers.ts";
import { place } from "../output/events.ts";
import { ago, count } from "../output/format.ts";
import type { Screen } from "../output/screen.ts";
import { type Column, table } from "../output/table.ts";
import { reading } from "../session/reading.ts";

/** The most that the library gives. */
const MAX_LIMIT = 10_000;

/** `rheo leases`: who holds what, since when and until when. */
export const leases: CliCommand = reading<{ readonly limit: number }>({
  usage: "leases <stream> <group>",
  summary: "who holds what, since when and until when",
  options: (command) => command.option("--limit <n>", "at most so many", wholeNumber(1, MAX_LIMIT), 1_000),
  isWatchable: true,
  look: async ({ rheo }, [stream = "", group = ""], { limit }) => {
    const rows = await rheo.leases(stream, group, { limit });
    return {
      data: rows,
      text: (screen) => (rows.length === 0 ? "Nobody holds a lease." : table(screen, columns(screen), rows)),
      note: rows.length === limit ? "There may be more: raise --limit" : null,
    };
  },
});

const columns = (screen: Screen): readonly Column<LeaseInfo>[] => [
  { head: "AT", value: place, align: "right" },
  { head: "TOKEN", value: ({ token }) => count(token), align: "right" },
  { head: "ATTEMPT", value: ({ attempt }) => attempt, align: "right" },
  { head: "HOLDER", value: ({ consumerId }) => consumerId, yields: "next" },
  { head: "LEASED", value: ({ leasedAt }) => ago(leasedAt, screen.nowMs) },
  {
    head: "RUNS OUT",
    value: ({ expiresAt }) => ago(expiresAt, screen.nowMs),
    paint: (text, { expiresAt }) => (expiresAt.getTime() <= screen.nowMs ? screen.colors.red(text) : text),
  },
];
