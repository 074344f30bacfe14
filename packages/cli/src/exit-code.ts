/** Exit codes that hold for every command; `start` has one more. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
