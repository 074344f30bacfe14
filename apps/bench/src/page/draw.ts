/** Charts as SVG, drawn without a browser. The same data gives the same text. */
import { BarChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { type EChartsCoreOption, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { Role } from "./pick.ts";

use([BarChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** What stands at its end. */
  readonly text: string;
  readonly role: Role;
}

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

const WIDTH = 860;
const BAR_HEIGHT = 30;
const LINES_HEIGHT = 380;
/** Title above, axis below. */
const MARGIN = 92;
/** Of the widest fonts that stand in for the one that is wanted. */
const LETTER_WIDTH = 7;
const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
const INK = "#1f2933";
const FAINT = "#d9dee5";
const COLOURS: Readonly<Record<Role, string>> = { rheo: "#2563a8", limit: "#8a97a8", peer: "#d9a441" };
const LINE_COLOURS = ["#2563a8", "#d9822b", "#3f8f5b", "#8b5fb0", "#b0413e", "#5b6b7b", "#1c9aa0", "#a08a1c"];

const grouped = (value: number): string => value.toLocaleString("en-US");

/** One under the other, the first on top. On a logarithmic axis they begin at the power of ten below the least. */
export const drawBars = (title: string, unit: string, bars: readonly Bar[], isLog = false): string => {
  const height = MARGIN + bars.length * BAR_HEIGHT;
  const least = 10 ** Math.floor(Math.log10(Math.min(...bars.map(({ value }) => value))));
  return draw(title, height, {
    title: titleOf(title, unit),
    grid: { left: 24 + widthOf(bars.map(({ label }) => label)), right: 90, top: 62, bottom: 28, outerBoundsMode: "none" },
    xAxis: {
      ...valueAxis(isLog),
      ...(isLog ? { min: least, startValue: least } : {}),
      axisLabel: { color: INK, formatter: grouped },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: bars.map(({ label }) => label),
      axisTick: { show: false },
      axisLine: { show: false },
      axisLabel: { color: INK, fontSize: 12 },
    },
    series: [
      {
        type: "bar",
        barWidth: "62%",
        data: bars.map(({ value, text, role }) => ({
          value,
          itemStyle: { color: COLOURS[role], borderRadius: [0, 3, 3, 0] },
          label: { show: true, position: "right", formatter: text, color: INK, fontSize: 12 },
        })),
      },
    ],
  });
};

/** Room for the longest, whatever font there is: it is not known here. */
const widthOf = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length)) * LETTER_WIDTH;

/** `xName`: what runs along the x axis, on which values are as far apart as their logarithms. */
export const drawLines = (title: string, unit: string, xName: string, lines: readonly Line[], isLog = false): string => {
  const xs = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
  return draw(title, LINES_HEIGHT, {
    title: titleOf(title, unit),
    color: LINE_COLOURS,
    legend: {
      bottom: 4,
      icon: "roundRect",
      itemWidth: 14,
      itemHeight: 4,
      itemGap: 34,
      textStyle: { color: INK, fontSize: 12 },
    },
    grid: { left: 84, right: 40, top: 66, bottom: 70, outerBoundsMode: "none" },
    xAxis: {
      type: "category",
      name: xName,
      nameLocation: "middle",
      nameGap: 26,
      nameTextStyle: { color: INK },
      boundaryGap: false,
      data: xs.map(grouped),
      axisLabel: { color: INK },
    },
    yAxis: { ...valueAxis(isLog), axisLabel: { color: INK, formatter: grouped } },
    series: lines.map(({ name, points }) => ({
      type: "line",
      name,
      symbol: "circle",
      symbolSize: 7,
      lineStyle: { width: 2.5 },
      connectNulls: true,
      data: xs.map((x) => points.find(([at]) => at === x)?.[1] ?? null),
    })),
  });
};

const valueAxis = (isLog: boolean): object => ({
  type: isLog ? "log" : "value",
  splitLine: { lineStyle: { color: FAINT } },
});

const titleOf = (text: string, unit: string): object => ({
  text,
  subtext: unit,
  left: 12,
  top: 8,
  itemGap: 6,
  textStyle: { color: INK, fontSize: 15, fontWeight: 600 },
  subtextStyle: { color: "#6b7785", fontSize: 12 },
});

/** `title`: for those who hear the page. */
const draw = (title: string, height: number, option: EChartsCoreOption): string => {
  const chart = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
  chart.setOption({ ...option, animation: false, backgroundColor: "#ffffff", textStyle: { fontFamily: FONT } });
  const svg = chart.renderToSVGString();
  chart.dispose();
  const named = svg.replace(/^<svg [^>]*>/, (tag) => `${tag}\n<title>${title}</title>`);
  return `${named.replaceAll(POINTER, "")}\n`;
};

/** What is there for a pointer, of which a picture has none; its names count the charts drawn so far. */
const POINTER = / (?:class|ecmeta_\w+|pointer-events)="[^"]*"|<style >.*?<\/style>\n?/gs;
