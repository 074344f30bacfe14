/** Sequences as ranges, and answers for ranges as answers for sequences. */

/** Rising sequences as an int8multirange. */
export const multirange = (sequences: readonly number[]): string => {
  const ranges: string[] = [];
  let first = sequences[0];
  for (const [index, sequence] of sequences.entries()) {
    const next = sequences[index + 1];
    if (first !== undefined && next === sequence + 1) continue;
    ranges.push(`[${first},${sequence + 1})`);
    first = next;
  }
  return `{${ranges.join(",")}}`;
};

/** `[code, first, last + 1]`. */
export type Run = readonly [code: string, from: number, until: number];

/** One answer per sequence. @throws TypeError - the store left one out */
export const spread = <Answer>(
  answer: string | readonly Run[],
  sequences: readonly number[],
  toAnswer: (code: string) => Answer,
): readonly Answer[] => {
  if (typeof answer === "string") return new Array<Answer>(sequences.length).fill(toAnswer(answer));
  const runs = [...answer].sort((a, b) => a[1] - b[1]);
  let at = 0;
  return sequences.map((sequence) => {
    let run = runs[at];
    while (run !== undefined && run[2] <= sequence) run = runs[++at];
    if (run === undefined || run[1] > sequence) throw new TypeError(`no answer for sequence ${sequence}`);
    return toAnswer(run[0]);
  });
};
