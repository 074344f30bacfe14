/** An empty project outside the workspace, as of somebody who installs the packages, on a Node of choice. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const CONSUMER = fileURLToPath(new URL("./consumer/", import.meta.url));
/** Long enough for a machine that does much else. */
const TIMEOUT_MS = 600_000;

/** @param binary - of the Node that runs npm and all else in the project */
export const createProject = (folder, binary) => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "consumer", version: "1.0.0", private: true, type: "module" }),
  );
  cpSync(CONSUMER, folder, { recursive: true });
  const env = environment(binary);

  /** @returns what it printed @throws when it ends with another code than 0 */
  const run = (command, ...args) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd: folder,
      env,
      encoding: "utf8",
      timeout: TIMEOUT_MS,
    });
    if (status === 0) return stdout.trim();
    const line = [command, ...args].join(" ").slice(0, 300);
    throw new Error(`${line}\nended with ${status ?? error?.message}\n${stdout}${stderr}`);
  };
  return {
    folder,
    run,
    node: (...args) => run(binary, ...args),
    /** The bin of an installed package. */
    bin: (name, ...args) => run(binary, join(folder, "node_modules", ".bin", name), ...args),
    install: (...args) => run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--save-exact", ...args),
  };
};

/** The given Node is found first, and nothing of an `npm run` around this one is. */
const environment = (binary) => {
  const entries = Object.entries(process.env).filter(([name]) => !/^(npm_.*|NODE_OPTIONS|NODE_PATH|CI)$/i.test(name));
  const own = Object.fromEntries(entries);
  return { ...own, NO_COLOR: "1", PATH: `${dirname(binary)}${delimiter}${process.env.PATH}` };
};
