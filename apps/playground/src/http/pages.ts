/** The page's files: read once, served from memory. */
import { readFile } from "node:fs/promises";

export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

const HTML = "text/html; charset=utf-8";
const CSS = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const SVG = "image/svg+xml";
const STYLES = ["base", "controls", "live", "tour"];
const SCRIPTS = ["main", "api", "element", "live", "members", "narration", "strip", "tour"];

/** Of the package, by the path it is served at. */
const FILES: readonly (readonly [path: string, file: string, type: string])[] = [
  ["/", "../../src/web/index.html", HTML],
  ["/favicon.svg", "../../src/web/favicon.svg", SVG],
  ...STYLES.map((name) => [`/${name}.css`, `../../src/web/${name}.css`, CSS] as const),
  ...SCRIPTS.map((name) => [`/${name}.js`, `../web/${name}.js`, SCRIPT] as const),
];

export const loadPages = async (): Promise<ReadonlyMap<string, PageFile>> =>
  new Map(await Promise.all(FILES.map(async ([path, file, type]) => [path, { body: await read(file), type }] as const)));

const read = async (file: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await readFile(new URL(file, import.meta.url)));
