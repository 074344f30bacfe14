/** What can be ended. */
export interface Closable extends AsyncDisposable {
  /** Idempotent. */
  readonly close: () => Promise<void>;
}

/** Ends each of its parts once, in order. */
export const closable = (parts: readonly (() => void)[]): Closable => {
  const left = [...parts];
  const close = (): Promise<void> => {
    for (const end of left.splice(0)) end();
    return Promise.resolve();
  };
  return { close, [Symbol.asyncDispose]: close };
};
