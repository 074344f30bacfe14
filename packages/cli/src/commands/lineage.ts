import type { EventLineage, LineageNode } from "@rheo/core";
import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { wholeNumber } from "../options/numbers.ts";
import { inert } from "../output/inert.ts";
import type { Screen } from "../output/screen.ts";
import { noSuchEvent } from "../session/no-such-event.ts";
import { reading } from "../session/reading.ts";

interface Flags {
  readonly streams?: readonly string[];
  readonly limit: number;
}

const options = (command: Command): Command =>
  command
    .option("--streams <names>", "only in these streams, such as orders,payments (default: all)", (text) => text.split(","))
    .option("--limit <n>", "gather at most so many events", wholeNumber(1, 10_000), 1_000);

/** `rheo lineage`: what led to an event, and what followed from it. */
export const lineage: CliCommand = reading<Flags>({
  usage: "lineage <stream> <id>",
  summary: "what led to an event, and what followed from it",
  options,
  look: async ({ rheo }, [stream = "", id = ""], { streams, limit }) => {
    const found = await rheo.lineageOf(stream, id, { limit, ...(streams === undefined ? {} : { streams }) });
    if (found === null) throw noSuchEvent(stream, id);
    return {
      data: found,
      text: (screen) => found.roots.flatMap((root) => linesOf(root, found, screen, "")).join("\n"),
      note: found.truncated ? `There is more than ${limit} events of it: raise --limit` : null,
    };
  },
});

/** The event asked for is marked. */
const linesOf = ({ event, effects }: LineageNode, found: EventLineage, screen: Screen, indent: string): readonly string[] => {
  const isAskedFor = event.id === found.event.id && event.stream === found.event.stream;
  const name = [event.type, event.key === null ? null : `key=${event.key}`].filter((part) => part !== null).join(" ");
  const line = inert(`${event.stream} ${event.partition}@${event.sequence} ${event.id} ${name}`).trimEnd();
  return [
    `${indent}${isAskedFor ? screen.colors.bold(`${line} ←`) : line}`,
    ...effects.flatMap((effect) => linesOf(effect, found, screen, `${indent}  `)),
  ];
};
