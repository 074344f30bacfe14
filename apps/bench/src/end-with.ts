/** Ends the run in order when it is interrupted, or when something fails where nobody waits for it. */
const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/**
 * `stop` runs once, whatever else fails meanwhile because of it; the exit status is that of a process ended by the signal, or 1.
 * `goOn`: what to do instead with an error that nobody waits for, because it need not be one of ours.
 */
export const endWith = (stop: () => Promise<void>, goOn: ((error: Error) => void) | null): void => {
  let isEnding = false;
  const end = (status: number): void => {
    if (isEnding) return;
    isEnding = true;
    void stop().finally(() => process.exit(status));
  };
  for (const [signal, number] of Object.entries(SIGNALS)) process.on(signal, () => end(128 + number));
  process.on("uncaughtException", (error) => {
    if (isEnding) return;
    if (goOn !== null) return goOn(error);
    console.error(error);
    end(1);
  });
};
