/**
 * One partition of a group as a strip: what is settled, what is open and who has it, what is still ahead. The open part is to scale; the
 * settled part and what lies ahead may be millions long, and are not.
 */
import type { JSX } from "preact";
import type { PartitionRow } from "../../src/views/group.ts";
import type { LeaseRun } from "../../src/views/lease-runs.ts";
import { count } from "../format.ts";
import { now } from "../state/time.ts";

const WIDTH = 1_000;
const HEIGHT = 18;
const SETTLED_WIDTH = 90;
const AHEAD_WIDTH = 240;
/** Deliveries after the frontier that are shown to scale, known or not. */
const LEAST_SHOWN = 24;
/** So that one delivery among thousands is seen. */
const LEAST_WIDTH = 4;

interface Mark {
  readonly kind: "settled" | "open" | "leased" | "expired" | "retrying" | "pending" | "ahead";
  readonly x: number;
  readonly width: number;
  readonly title: string;
}

export const Strip = ({ part }: { readonly part: PartitionRow }): JSX.Element => {
  const marks = marksOf(part, now.value);
  return (
    <svg class="strip" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary(part)}>
      {marks.map(({ kind, x, width, title }) => (
        <rect key={`${kind}${x}`} class={kind} x={x} y={0} width={width} height={HEIGHT}>
          <title>{title}</title>
        </rect>
      ))}
      {part.lag > 0 && <rect class="frontier" x={SETTLED_WIDTH - 1} y={0} width={2} height={HEIGHT} />}
    </svg>
  );
};

const marksOf = (part: PartitionRow, nowMs: number): Mark[] => {
  const { frontier, highWatermark, lag, runs, holder } = part;
  if (lag === 0) return [{ kind: "settled", x: 0, width: WIDTH, title: `Everything up to ${count(highWatermark)} is settled` }];
  const known = Math.max(Math.min(frontier + LEAST_SHOWN, highWatermark), ...runs.map(({ spans }) => spans.at(-1)?.[1] ?? 0));
  const end = known < highWatermark ? WIDTH - AHEAD_WIDTH : WIDTH;
  const scale = (end - SETTLED_WIDTH) / (known - frontier);
  const at = (first: number, last: number): Pick<Mark, "x" | "width"> => ({
    x: SETTLED_WIDTH + (first - frontier - 1) * scale,
    width: Math.max(LEAST_WIDTH, (last - first + 1) * scale),
  });
  const marks: Mark[] = [
    { kind: "settled", x: 0, width: SETTLED_WIDTH, title: `Settled up to ${count(frontier)}` },
    { kind: "open", x: SETTLED_WIDTH, width: end - SETTLED_WIDTH, title: "Waiting, or settled above a hole" },
  ];
  if (end < WIDTH)
    marks.push({
      kind: "ahead",
      x: end,
      width: WIDTH - end,
      title: `${count(highWatermark - known)} more, up to ${count(highWatermark)}`,
    });
  for (const run of runs) marks.push(...runMarks(run, at, nowMs));
  if (holder !== null && holder.state !== "leased")
    marks.push({
      kind: holder.state === "retrying" ? "retrying" : "pending",
      ...at(holder.sequence, holder.sequence),
      title: `${count(holder.sequence)}: ${holder.state}`,
    });
  return marks;
};

const runMarks = (
  { spans, consumerId, expiresAtMs }: LeaseRun,
  at: (first: number, last: number) => Pick<Mark, "x" | "width">,
  nowMs: number,
): Mark[] => {
  const marks: Mark[] = [];
  const [first, last] = [spans[0]?.[0] ?? 0, spans.at(-1)?.[1] ?? 0];
  if (spans.length > 1) marks.push({ kind: "settled", ...at(first, last), title: "Settled above a hole" });
  const kind = expiresAtMs > nowMs ? "leased" : "expired";
  for (const [from, to] of spans)
    marks.push({ kind, ...at(from, to), title: `${from === to ? count(from) : `${count(from)}–${count(to)}`}: ${consumerId}` });
  return marks;
};

const summary = ({ partition, frontier, highWatermark, lag, runs }: PartitionRow): string => {
  const held = runs.reduce((sum, run) => sum + run.count, 0);
  return `Partition ${partition}: settled up to ${frontier} of ${highWatermark}, lag ${lag}, ${held} held`;
};

const LEGEND = [
  ["settled", "settled"],
  ["leased", "leased"],
  ["expired", "lease run out"],
  ["retrying", "retrying"],
  ["pending", "next to be offered"],
  ["open", "waiting, or settled above a hole"],
  ["ahead", "ahead, not to scale"],
] as const;

export const StripLegend = (): JSX.Element => (
  <ul class="strip-legend" aria-label="What the colours of the strips mean">
    {LEGEND.map(([kind, text]) => (
      <li key={kind}>
        <svg width="14" height="10" aria-hidden="true">
          <rect class={kind} width="14" height="10" />
        </svg>
        {text}
      </li>
    ))}
  </ul>
);
