import { setTimeout as sleep } from "node:timers/promises";
import { RheoError } from "@rheo/core";
import { Option } from "commander";
import { duration as durationOption } from "../options/numbers.ts";
import { duration } from "../output/format.ts";
import { inert } from "../output/inert.ts";
import type { Screen } from "../output/screen.ts";
import type { View } from "./reading.ts";
import type { Session } from "./session.ts";

export interface WatchFlags {
  readonly watch?: boolean;
  /** In ms. */
  readonly every: number;
}

/** `--every`, as every command that looks again has it. */
export const everyOption = (summary: string): Option =>
  new Option("--every <duration>", summary).argParser(durationOption).default(1_000, "1s");

/** Sooner would only load the store. */
const LEAST_MS = 100;

/**
 * Looks until the signal aborts. On a terminal the text is drawn anew in its place; on a pipe, and as JSON, only what differs from the look
 * before is printed. A store that is away for a while is waited for.
 */
export const watch = async (session: Session, everyMs: number, look: () => Promise<View>): Promise<number> => {
  const { print, signal } = session;
  for (let before = ""; !signal.aborted; ) {
    const view = await patiently(session, look);
    if (view !== null) {
      const after = JSON.stringify(view.data);
      const { screen } = print;
      if (screen.columns !== null && !print.isJson) print.text(frame(headOf(screen, everyMs), view.text(screen), screen));
      else if (after !== before) tell(session, view);
      before = after;
    }
    await print.drained(signal);
    await sleep(Math.max(LEAST_MS, everyMs), undefined, { signal }).catch(() => undefined);
  }
  return 0;
};

const patiently = async ({ print }: Session, look: () => Promise<View>): Promise<View | null> => {
  try {
    return await look();
  } catch (error) {
    if (!RheoError.is(error, "unavailable")) throw error;
    print.note(`${error.message} Looking again.`);
    return null;
  }
};

const tell = ({ print }: Session, view: View): void => {
  const at = new Date(print.screen.nowMs);
  if (print.isJson) print.value({ at, data: view.data });
  else print.text(`${at.toISOString()}\n${view.text(print.screen)}\n`);
};

const headOf = ({ nowMs }: Screen, everyMs: number): string =>
  `${new Date(nowMs).toISOString()}, every ${duration(everyMs)}, Ctrl-C ends`;

/** From the upper left corner over what was there; as many lines as there is room for. */
export const frame = (head: string, text: string, screen: Screen): string => {
  const room = (screen.rows ?? 1) - 2;
  const lines = text.split("\n");
  const shown = lines.length <= room ? lines : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines`];
  const drawn = [screen.colors.dim(inert(head).slice(0, screen.columns ?? undefined)), ...shown];
  return `\u001b[H${drawn.map((line) => `${line}\u001b[K`).join("\n")}\u001b[J`;
};
