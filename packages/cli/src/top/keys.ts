import type { Input } from "../io.ts";

/** Calls `pressed` with each key, arrows as the sequence that terminals send, until `stop` is called. */
export const readKeys = (stdin: Input, pressed: (key: string) => void): { stop(): void } => {
  const chunks = stdin[Symbol.asyncIterator]();
  let isStopped = false;
  stdin.setRawMode?.(true);
  const read = async (): Promise<void> => {
    for (let next = await chunks.next(); !isStopped && next.done !== true; next = await chunks.next()) {
      for (const key of keysOf(String(next.value))) pressed(key);
    }
  };
  // an input that ends or breaks says nothing more
  read().catch(() => undefined);
  return {
    stop: () => {
      isStopped = true;
      stdin.setRawMode?.(false);
      void chunks.return?.();
    },
  };
};

const keysOf = (text: string): readonly string[] => text.match(/\p{Cc}\[[A-Z]|[\s\S]/gu) ?? [];
