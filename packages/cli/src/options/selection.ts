/** Which dead letters: as `redrive` and `purge-dead-letters` have it. */
import { type DeadLetterSelection, type Filter, type Rheo, RheoError } from "@rheo/core";
import type { Command } from "commander";
import { whereOption } from "./query.ts";

export interface SelectionFlags {
  readonly id?: readonly string[];
  readonly where?: Filter;
  readonly all?: boolean;
}

export const selectionOptions = (command: Command): Command =>
  whereOption(command).option("--id <ids...>", "those of these event ids").option("--all", "all of them");

/** @throws invalid_option - none is chosen, or more than one way */
export const toSelection = ({ id, where, all }: SelectionFlags): DeadLetterSelection => {
  const given = [
    ...(id === undefined ? [] : [{ eventIds: id }]),
    ...(where === undefined ? [] : [{ where }]),
    ...(all === true ? [{ all: true as const }] : []),
  ];
  const [selection] = given;
  if (selection !== undefined && given.length === 1) return selection;
  throw new RheoError("invalid_option", "Choose dead letters by one of --id, --where and --all.");
};

/** What the library gives at a time. */
const PAGE = 1_000;

/** How many a selection comes to now. Looks at all of the group's. */
export const countSelected = async (
  rheo: Rheo,
  stream: string,
  group: string,
  selection: DeadLetterSelection,
): Promise<number> => {
  const ids = "eventIds" in selection ? new Set(selection.eventIds) : null;
  const filter = "where" in selection ? { where: selection.where } : {};
  let count = 0;
  for (let after: string | undefined; ; ) {
    const page = await rheo.deadLetters(stream, group, { limit: PAGE, ...filter, ...(after === undefined ? {} : { after }) });
    count += ids === null ? page.length : page.filter(({ eventId }) => ids.has(eventId)).length;
    after = page.at(-1)?.eventId;
    if (page.length < PAGE) return count;
  }
};
