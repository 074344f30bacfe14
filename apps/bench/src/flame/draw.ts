/** A flame graph as SVG: what was called stands on what called it, as wide as the time it took. Pointing at a frame tells all of it. */
import type { Frame, Profile } from "./profile.ts";

const WIDTH = 1_200;
const ROW = 18;
const HEAD = 60;
const LETTER_WIDTH = 6.4;
/** What takes less of the whole is left out. */
const LEAST = 0.004;
const FONT = "ui-monospace, 'DejaVu Sans Mono', monospace";

/** Whose time it is, by where the script lies. */
const ROOMS: readonly (readonly [name: string, colour: string, isOf: (url: string, name: string) => boolean])[] = [
  ["garbage collector", "#d98c8c", (_, name) => name === "(garbage collector)"],
  ["core", "#9dc1e8", (url) => url.includes("/packages/core/")],
  ["runtime", "#a5d6b0", (url) => url.includes("/packages/runtime/")],
  ["backend", "#c9b3e6", (url) => url.includes("/packages/backends/")],
  ["other packages", "#f0c98a", (url) => url.includes("/node_modules/")],
  ["the bench's handler", "#f2e394", (url) => url.includes("/apps/bench/")],
  ["Node and what is built in", "#d5dae1", () => true],
];

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const roomOf = ({ url, name }: Frame): (typeof ROOMS)[number] | undefined => ROOMS.find(([, , isOf]) => isOf(url, name));

/** The part of a URL that means the same on every machine. */
const placeOf = (url: string): string => /(?:packages|apps|node_modules)\/.*$/.exec(url)?.[0] ?? url;

const depthOf = (frame: Frame, least: number): number =>
  1 +
  Math.max(0, ...[...frame.children.values()].filter(({ totalUs }) => totalUs >= least).map((child) => depthOf(child, least)));

export const drawFlame = (title: string, { root, idle }: Profile): string => {
  const least = root.totalUs * LEAST;
  const rows = depthOf(root, least) - 1;
  const height = HEAD + rows * ROW + 8;
  const parts: string[] = [];
  const draw = (frame: Frame, from: number, row: number): void => {
    const width = (frame.totalUs / root.totalUs) * WIDTH;
    const share = ((frame.totalUs / root.totalUs) * 100).toFixed(1);
    const y = height - 8 - (row + 1) * ROW;
    const [room = "", colour = "#fff"] = roomOf(frame) ?? [];
    const letters = Math.floor((width - 6) / LETTER_WIDTH);
    const label = letters < 3 ? "" : frame.name.length <= letters ? frame.name : `${frame.name.slice(0, letters - 1)}…`;
    parts.push(
      `<g><title>${escaped(`${frame.name} (${room}) ${share} % ${placeOf(frame.url)}`)}</title>` +
        `<rect x="${from.toFixed(1)}" y="${y}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${ROW - 1}" fill="${colour}"/>` +
        (label === "" ? "" : `<text x="${(from + 3).toFixed(1)}" y="${y + 12.5}">${escaped(label)}</text>`) +
        "</g>",
    );
    drawAll(frame, from, row + 1);
  };
  const drawAll = (frame: Frame, from: number, row: number): void => {
    let at = from;
    for (const child of [...frame.children.values()].sort((a, b) => b.totalUs - a.totalUs)) {
      if (child.totalUs >= least) draw(child, at, row);
      at += (child.totalUs / root.totalUs) * WIDTH;
    }
  };
  drawAll(root, 0, 0);
  const legend = ROOMS.map(([name, colour], index) => {
    const x = 8 + index * 160;
    return `<rect x="${x}" y="34" width="12" height="12" fill="${colour}"/><text x="${x + 17}" y="44">${escaped(name)}</text>`;
  }).join("");
  const caption = `${title} (idle ${(idle * 100).toFixed(0)} % of the time, which is left out)`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(caption)}" font-family="${FONT}" font-size="11" fill="#1f2933">` +
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/><text x="8" y="20" font-size="14">${escaped(caption)}</text>${legend}${parts.join("")}</svg>\n`
  );
};
