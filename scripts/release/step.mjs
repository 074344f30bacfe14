/** The steps of a release: each says what it does, how long it took, and stops the rest when it fails. */
import { spawnSync } from "node:child_process";

/** @throws - it ended with another code than 0 */
export const step = (cwd, name, command, ...args) => {
  console.log(`\n${name}: ${[command, ...args].join(" ").slice(0, 160)}`);
  const start = performance.now();
  const { status, error } = spawnSync(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"] });
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  if (status !== 0) throw new Error(`FAIL ${name} (${seconds} s): ended with ${status ?? error?.message}. No release was made.`);
  console.log(`ok   ${name} (${seconds} s)`);
};

/** @returns what it printed @throws - it ended with another code than 0 */
export const capture = (cwd, command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${stderr}`);
  return stdout.trim();
};

/** @returns whether it ended with 0, and what it printed */
export const attempt = (cwd, command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return { ok: status === 0, text: `${stdout}${stderr}`.trim() };
};
