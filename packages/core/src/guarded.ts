/** Calls what a user gave, such as a listener: what it throws becomes a process warning, and harms nobody. `who`: "A listener of …". */
export const guarded = (who: string, call: () => void): void => {
  try {
    call();
  } catch (error) {
    process.emitWarning(`${who} threw: ${error instanceof Error ? error.message : String(error)}`, "RheoWarning");
  }
};
