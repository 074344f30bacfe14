/** The command line as text: the help of every command but `demo`, which is a program of its own and no promise. */
import { main } from "@rheo/cli";

/** @returns what the command line prints, as if into a file */
const printed = async (...args) => {
  let text = "";
  const output = { write: (part) => (text += part) };
  const code = await main(args, { stdout: output, stderr: output, env: {} });
  if (code !== 0) throw new Error(`rheo ${args.join(" ")}: exit code ${code}\n${text}`);
  return text;
};

/** Commander asks the real terminal how wide it is; a report must not depend on it. */
const onPipe = async (run) => {
  const { isTTY } = process.stdout;
  process.stdout.isTTY = false;
  try {
    return await run();
  } finally {
    process.stdout.isTTY = isTTY;
  }
};

export const commandReport = () =>
  onPipe(async () => {
    const [, names = ""] = /words="([^"]*)"\n\s*else/.exec(await printed("completion", "bash")) ?? [];
    const helps = [];
    for (const name of names.split(" ").filter((word) => word !== "demo")) helps.push(await printed(name, "--help"));
    return [await printed("--help"), ...helps].join("\n");
  });
