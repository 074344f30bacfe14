/** Figures over time. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { shortCount, timeOfDay } from "../format.ts";
import { isDark } from "../state/theme.ts";

interface Line {
  readonly name: string;
  /** Name of a colour in tokens.css. */
  readonly colour: "--accent" | "--busy" | "--warn" | "--bad" | "--ok";
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  readonly atMs: readonly number[];
  readonly lines: readonly Line[];
  readonly show: (value: number) => string;
}

const HEIGHT = 180;

export const Chart = ({ title, atMs, lines, show }: ChartProps): JSX.Element => {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = [atMs.map((ms) => ms / 1_000), ...lines.map(({ values }) => [...values])] as uPlot.AlignedData; // one x, then each line
  const [hovered, setHovered] = useState<number | null>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(element, lines, setHovered), data, element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [isDark.value, lines.length]);
  useEffect(() => plot.current?.setData(data));
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <span class="legend">
          {lines.map(({ name, colour, values }) => (
            <span key={name}>
              <i class={`swatch ${colour.slice(2)}`} aria-hidden="true" /> {name}{" "}
              <b class="number">{valueAt(values, hovered, show)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} class="plot" role="img" aria-label={`${title}: ${lines.map((line) => inWords(line, show)).join("; ")}`} />
    </figure>
  );
};

const valueAt = (values: Line["values"], at: number | null, show: ChartProps["show"]): string => {
  const value = values.at(at ?? -1) ?? null;
  return value === null ? "–" : show(value);
};

const inWords = ({ name, values }: Line, show: ChartProps["show"]): string => {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `${name}: nothing yet`;
  return `${name}: now ${show(known.at(-1) ?? 0)}, between ${show(Math.min(...known))} and ${show(Math.max(...known))}`;
};

/** uPlot paints on a canvas, which knows no custom properties: colours are resolved when it is made. */
const optionsOf = (element: HTMLElement, lines: readonly Line[], onHover: (at: number | null) => void): uPlot.Options => {
  const { fontFamily } = getComputedStyle(element);
  const colour = (name: string): string => {
    element.style.color = `var(${name})`;
    const resolved = getComputedStyle(element).color;
    element.style.color = "";
    return resolved;
  };
  const axis = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${fontFamily}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? null)] },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(most ?? 0, 1) * 1.1] } },
    axes: [
      { ...axis, space: 80, size: 28, values: (_plot, seconds) => seconds.map((at) => timeOfDay(at * 1_000)) },
      { ...axis, size: 56, values: (_plot, values) => values.map((value) => (value % 1 === 0 ? shortCount(value) : "")) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.name,
        stroke: colour(line.colour),
        width: 1.5,
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
};
