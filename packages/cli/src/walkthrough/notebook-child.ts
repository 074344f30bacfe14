/** Loaded before a notebook's module, in its process: lets the parent run it block by block. */
import { STOP } from "./notebook-module.ts";

const { RHEO_NOTEBOOK_MARK: mark = "", RHEO_NOTEBOOK_BLOCKS: blocks = "0" } = process.env;

const leave = (): void => process.exit();
process.once("disconnect", leave); // nobody is there any more who could let it go on

/** Says, among what the code prints, that the blocks before are done; goes on when the parent says so, and at the end by itself. */
const stop = async (index: number): Promise<void> => {
  for (const output of [process.stdout, process.stderr]) output.write(`${mark}${index}\n`);
  if (index < Number(blocks)) return new Promise((resolve) => process.once("message", () => resolve()));
  process.off("disconnect", leave);
  process.disconnect();
};

Reflect.set(globalThis, STOP, stop);
