/** The tests that a guide shows are run as its reader would run them: by vitest, each page in a folder of its own. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { writeCodeBlocks } from "@rheo/testing/internal";
import { afterAll } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Below the repository, so that the packages resolve as they do for a user who installed them. */
const parent = join(root, "node_modules", ".cache", "docs");
await mkdir(parent, { recursive: true });
const folder = await mkdtemp(join(parent, "backends-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

await writeCodeBlocks(join(root, "docs/backends.md"), folder);
await import(pathToFileURL(join(folder, "journal.test.mjs")).href);
