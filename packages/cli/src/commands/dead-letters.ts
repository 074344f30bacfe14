import type { DeadLetterInfo, Filter, Rheo } from "@rheo/core";
import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { wholeNumber } from "../options/numbers.ts";
import { whereOption } from "../options/query.ts";
import { place } from "../output/events.ts";
import { ago } from "../output/format.ts";
import { inert } from "../output/inert.ts";
import type { Screen } from "../output/screen.ts";
import { type Column, table } from "../output/table.ts";
import { reading } from "../session/reading.ts";

interface Flags {
  readonly where?: Filter;
  readonly limit: number;
  readonly after?: string;
  readonly stack?: boolean;
}

const MAX_LIMIT = 100_000;
/** What the library gives at a time. */
const PAGE = 1_000;

const options = (command: Command): Command =>
  whereOption(command)
    .option("--limit <n>", "at most so many", wholeNumber(1, MAX_LIMIT), 100)
    .option("--after <id>", "those after the one of this event id: the next page")
    .option("--stack", "also where each failed, as far as that is known");

/** `rheo dead-letters`: what is dead, and why. */
export const deadLetters: CliCommand = reading<Flags>({
  usage: "dead-letters <stream> <group>",
  summary: "what is dead, and why",
  options,
  look: async ({ rheo }, [stream = "", group = ""], flags) => {
    const letters = await read(rheo, stream, group, flags);
    const last = letters.length === flags.limit ? letters.at(-1) : undefined;
    return {
      data: letters,
      text: (screen) => (flags.stack === true ? listed(screen, letters) : table(screen, columns(screen), letters)),
      note: last === undefined ? null : `There may be more: --after ${last.eventId}`,
    };
  },
});

const read = async (rheo: Rheo, stream: string, group: string, flags: Flags): Promise<readonly DeadLetterInfo[]> => {
  const letters: DeadLetterInfo[] = [];
  for (;;) {
    const limit = Math.min(PAGE, flags.limit - letters.length);
    const after = letters.at(-1)?.eventId ?? flags.after;
    const page = await rheo.deadLetters(stream, group, {
      limit,
      ...(after === undefined ? {} : { after }),
      ...(flags.where === undefined ? {} : { where: flags.where }),
    });
    letters.push(...page);
    if (page.length < limit || letters.length === flags.limit) return letters;
  }
};

const columns = (screen: Screen): readonly Column<DeadLetterInfo>[] => [
  { head: "AT", value: place, align: "right" },
  { head: "EVENT", value: ({ eventId }) => eventId },
  { head: "KEY", value: ({ event }) => event?.key ?? null },
  { head: "ATTEMPTS", value: ({ attempts }) => attempts, align: "right" },
  { head: "CONSUMER", value: ({ consumerId }) => consumerId, yields: "next" },
  { head: "DEAD", value: ({ deadAt }) => ago(deadAt, screen.nowMs) },
  { head: "REASON", value: ({ reason }) => reason, yields: "first" },
];

/** Each with its stack, whose lines are kept. */
const listed = (screen: Screen, letters: readonly DeadLetterInfo[]): string =>
  letters.map((letter) => `${table(screen, columns(screen), [letter])}\n${indented(letter.stack ?? letter.reason)}`).join("\n\n");

const indented = (text: string): string =>
  text
    .split("\n")
    .map((line) => `  ${inert(line)}`)
    .join("\n");
