/** Writes the API reference from the docstrings. What has none, and a link in one that leads nowhere, is an error. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Application, Comment, LogLevel, type TypeDocOptions } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import { type EntryPoint, entryPoints, publicEntryPoints } from "./entry-points.ts";
import { API, HOME, ROOT } from "./places.ts";

/** What must say what it is. Members often say it by their name. */
const DOCUMENTED = ["Class", "Function", "Interface", "TypeAlias", "Variable"] as const;

/** @throws when a public name has no docstring, a docstring links nowhere, or a type that is seen from outside is not exported */
export const writeApi = async (): Promise<void> => {
  rmSync(API, { recursive: true, force: true });
  const points = publicEntryPoints();
  const app = await Application.bootstrapWithPlugins(options(points) as TypeDocOptions);
  const named = (app.getDefinedEntryPoints() ?? []).map((point, n) => ({ ...point, displayName: points[n]?.name ?? "" }));
  const project = app.converter.convert(named);
  const abouts = new Map(points.map(({ name, about }) => [name, about]));
  for (const module of project.children ?? [])
    module.comment ??= new Comment([{ kind: "text", text: abouts.get(module.name) ?? "" }]);
  app.validate(project);
  await app.generateOutputs(project);
  const { errorCount, warningCount } = app.logger;
  if (errorCount + warningCount > 0) throw new Error(`the API reference has ${errorCount} errors and ${warningCount} warnings`);
};

const options = (points: readonly EntryPoint[]): Partial<TypeDocOptions> & PluginOptions => ({
  plugin: ["typedoc-plugin-markdown"],
  entryPoints: points.map(({ file }) => file),
  tsconfig: join(HOME, "tsconfig.api.json"),
  basePath: ROOT,
  out: API,
  entryFileName: "index.md",
  hidePageHeader: true,
  name: "API reference",
  readme: "none",
  disableSources: true,
  // what a class inherits from Node's is told by Node
  excludeExternals: true,
  excludePrivate: true,
  excludeInternal: true,
  skipErrorChecking: true,
  logLevel: LogLevel.Warn,
  compilerOptions: { paths: Object.fromEntries(entryPoints().map(({ name, file }) => [name, [file]])) },
  packagesRequiringDocumentation: [...new Set(points.map(({ owner }) => owner))],
  requiredToBeDocumented: [...DOCUMENTED],
  validation: { notExported: true, invalidLink: true, notDocumented: true },
  router: "member",
  sortEntryPoints: false,
  sanitizeComments: true,
  useCodeBlocks: true,
  // all is readonly
  tableColumnSettings: { hideModifiers: true },
  indexFormat: "table",
  interfacePropertiesFormat: "table",
  typeAliasPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  parametersFormat: "table",
  pageTitleTemplates: { member: ({ name }) => name, module: ({ name }) => name, index: () => "API reference" },
});
