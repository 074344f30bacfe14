/** Exit codes that hold for every command; `start` and `doctor` have more. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130, terminated: 143 } as const;
