/** Sets of positions as they travel: runs as `1-5,7-7`, and codes with runs as `a1-5,7-7 S6-6`. */

/** Of rising sequences. */
export const runsOf = (sequences: readonly number[]): string => {
  const [first = 0] = sequences;
  const last = sequences[sequences.length - 1] ?? 0;
  if (last - first === sequences.length - 1) return `${first}-${last}`;
  const runs: string[] = [];
  let start = first;
  let end = first;
  for (const sequence of sequences) {
    if (sequence > end + 1) {
      runs.push(`${start}-${end}`);
      start = sequence;
    }
    end = sequence;
  }
  return `${runs.join(",")},${start}-${end}`;
};

interface Run<Value> {
  readonly first: number;
  readonly last: number;
  readonly value: Value;
}

/** The value of each sequence. `codes` has all of them. */
export const spread = <Value>(codes: string, sequences: readonly number[], toValue: (code: string) => Value): Value[] => {
  if (!codes.includes(" ")) return new Array<Value>(sequences.length).fill(toValue(codes[0] ?? ""));
  const runs = codes.split(" ").flatMap((part) => toRuns(part.slice(1), toValue(part[0] ?? "")));
  runs.sort((a, b) => a.first - b.first);
  let at = 0;
  return sequences.map((sequence) => {
    while (at < runs.length - 1 && sequence > (runs[at]?.last ?? 0)) at += 1;
    const run = runs[at];
    return run === undefined ? toValue("") : run.value;
  });
};

/** Of runs. */
export const sequencesOf = (runs: string): number[] => {
  const sequences: number[] = [];
  for (const { first, last } of toRuns(runs, null))
    for (let sequence = first; sequence <= last; sequence++) sequences.push(sequence);
  return sequences;
};

const toRuns = <Value>(text: string, value: Value): Run<Value>[] =>
  text.split(",").map((run) => {
    const [first, last] = run.split("-").map(Number);
    return { first: first ?? 0, last: last ?? 0, value };
  });
