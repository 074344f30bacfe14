/**
 * Where a thread begins. Piscina first tries to `require` its file, and a thread that is ended while it requires an ES module takes the whole
 * process with it (Node 20.19 and later: "IsGraphAsync must be used on an instantiated module"). This file is CommonJS, and imports the
 * rest, which may be ended at any time.
 */
const threadModule: Promise<typeof import("./thread.ts", { with: { "resolution-mode": "import" }})> = import("./thread.ts");
threadModule.catch(() => undefined); // told to each task

module.exports = async (task: unknown): Promise<unknown> => {
  const { default: run } = await threadModule;
  return run(task as Parameters<typeof run>[0]); // what the pool sends
};
