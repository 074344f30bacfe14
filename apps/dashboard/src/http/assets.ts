/** The built pages: read once, served from memory. What is not among them is not found, whatever the path says. */
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Asset {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** Its name changes with its content. */
  readonly isFixed: boolean;
}

const ROOT = fileURLToPath(new URL("../web/", import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

let loading: Promise<ReadonlyMap<string, Asset>> | null = null;

/** By path below the base, such as "index.html". @throws when the package was not built */
export const loadAssets = (): Promise<ReadonlyMap<string, Asset>> => {
  loading ??= readAll();
  return loading;
};

const readAll = async (): Promise<ReadonlyMap<string, Asset>> => {
  const assets = new Map<string, Asset>();
  for (const entry of await readdir(ROOT, { recursive: true, withFileTypes: true }).catch(notBuilt)) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(ROOT.length).replaceAll("\\", "/");
    assets.set(name, { body: new Uint8Array(await readFile(path)), type, isFixed: name.startsWith("assets/") });
  }
  return assets;
};

const notBuilt = (cause: unknown): never => {
  throw new Error("The pages of @rheo/dashboard are not there: in a checkout, run `npm run build -w @rheo/dashboard`.", {
    cause,
  });
};
