/** Loads every entry point given, as a module and with require, which Node 20.19 and newer can. */
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

for (const specifier of process.argv.slice(2)) {
  const imported = await import(specifier);
  const required = require(specifier);
  const differing = Object.keys(imported).filter((name) => imported[name] !== required[name]);
  if (differing.length > 0) throw new Error(`${specifier} is there twice: ${differing.join(" ")}`);
  if (!import.meta.resolve(specifier).startsWith(import.meta.resolve("./node_modules/")))
    throw new Error(`${specifier} comes from elsewhere: ${import.meta.resolve(specifier)}`);
}
