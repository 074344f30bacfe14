/** What the packages export: each entry point of each published one, and which of them are public. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./places.ts";

export interface EntryPoint {
  /** As one imports it: `@rheo/runtime/handler`. */
  readonly name: string;
  /** Its source. */
  readonly file: string;
  /** The package it is in. */
  readonly owner: string;
  /** What it is, in a sentence or two. */
  readonly about: string;
}

interface Manifest {
  readonly name: string;
  readonly description?: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, string | { readonly types: string }>>;
}

/** In the order of a reader: the packages one starts with first. What several of them export is explained in the first. */
const FOLDERS = ["packages", "packages/backends", "apps"];
const FIRST = ["@rheo/core", "@rheo/runtime", "@rheo/pipeline"];
/** Exports the others once more, so it stands last. */
const LAST = "rheo";

/** Without `./internal`, which siblings share and nobody else is promised. */
export const publicEntryPoints = (): readonly EntryPoint[] => entryPoints().filter(({ name }) => !name.endsWith("/internal"));

export const entryPoints = (): readonly EntryPoint[] =>
  manifests()
    .filter(({ manifest }) => manifest.private !== true)
    .sort((one, other) => rank(one.manifest.name) - rank(other.manifest.name))
    .flatMap(({ folder, manifest }) =>
      Object.entries(manifest.exports ?? {})
        .filter(([, target]) => typeof target === "object")
        .map(([path, target]) => {
          const file = sourceOf(folder, target);
          return { name: specifier(manifest.name, path), file, owner: manifest.name, about: aboutOf(file, manifest) };
        }),
    );

/** The first paragraph of the docstring that the file begins with, or else what the package says of itself. */
const aboutOf = (file: string, { description = "" }: Manifest): string => {
  const [, docstring = ""] = /^\/\*\*(.*?)\*\//s.exec(readFileSync(file, "utf8")) ?? [];
  const [paragraph = ""] = docstring
    .replaceAll(/^ *\* ?/gm, "")
    .trim()
    .split("\n\n");
  return paragraph.replaceAll("\n", " ") || description;
};

const manifests = (): { folder: string; manifest: Manifest }[] =>
  FOLDERS.flatMap((parent) => readdirSync(join(ROOT, parent)).map((name) => join(ROOT, parent, name)))
    .filter((folder) => existsSync(join(folder, "package.json")))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest }));

const rank = (name: string): number => {
  if (name === LAST) return FIRST.length + 1;
  const place = FIRST.indexOf(name);
  return place === -1 ? FIRST.length : place;
};

const specifier = (name: string, path: string): string => (path === "." ? name : `${name}${path.slice(1)}`);

const sourceOf = (folder: string, target: string | { readonly types: string }): string => {
  const types = typeof target === "string" ? target : target.types;
  return join(folder, types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts"));
};
