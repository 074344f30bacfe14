import type { DemoReport } from "./report.ts";

/** 130 is what shells expect after Ctrl-C. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

export const exitCodeOf = ({ ok }: Pick<DemoReport, "ok">): number => (ok ? EXIT.ok : EXIT.failed);
