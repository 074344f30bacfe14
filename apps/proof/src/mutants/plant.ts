/** Puts a mutant into the text of its file. Nothing on disk is changed. */
import type { SourceMutant } from "./mutant.ts";

/** How often a text has a part. */
export const timesIn = (text: string, part: string): number => text.split(part).length - 1;

/** The text with the fault in it. Hooks may be chained, so one that has it already stays as it is. @throws RangeError - not found exactly once */
export const plant = (
  source: string,
  { name, file, find, replace }: Pick<SourceMutant, "name" | "file" | "find" | "replace">,
): string => {
  const mark = `/* mutant ${name} */`;
  if (source.startsWith(mark)) return source;
  const times = timesIn(source, find);
  if (times !== 1) throw new RangeError(`The text of mutant "${name}" is found ${times} times in ${file}.`);
  return mark + source.replace(find, () => replace);
};
