import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { RheoError } from "@rheo/core";
import { failureText } from "@rheo/core/internal";
import { type AppConfig, parseConfig } from "./config.ts";
import { importModule } from "./import-module.ts";

/** The config module as a file URL: from a URL, or from a path (from the working directory). @throws invalid_option */
export const configHref = (config: unknown): string => {
  if (config instanceof URL && config.protocol === "file:") return config.href;
  if (typeof config === "string" && config !== "")
    return config.startsWith("file:") ? new URL(config).href : pathToFileURL(resolve(config)).href;
  throw new RheoError("invalid_option", "config is the path or file URL of a module.", { path: "config" });
};

/** Imports and checks a config module. @throws invalid_option, invalid_name */
export const loadConfig = async (href: string): Promise<AppConfig> => {
  const path = fileURLToPath(href);
  if (!existsSync(path))
    throw new RheoError(
      "invalid_option",
      `There is no ${path}. Give the path of a module whose default export is defineConfig({ … }).`,
      {
        path: "config",
      },
    );
  const module = await importModule(href).catch((cause: unknown) => {
    if (RheoError.is(cause)) throw cause;
    const { reason, stack } = failureText(cause, "it threw nothing readable");
    throw new RheoError(
      "invalid_option",
      `${path} cannot be loaded: ${reason}${stack === null ? "" : `\n${stack}`}`,
      {},
      { cause },
    );
  });
  const exported: unknown = Reflect.get(Object(module), "default");
  if (exported === undefined)
    throw new RheoError("invalid_option", `${path} has no default export. Write: export default defineConfig({ … }).`, {
      path: "default",
    });
  return parseConfig(exported, path);
};
