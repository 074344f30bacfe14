import type { Command } from "commander";
import { addCommand, type CliCommand } from "../command.ts";
import { storeOptions } from "../options/store.ts";
import type { Screen } from "../output/screen.ts";
import { type Session, type StoreFlags, withStore } from "./session.ts";
import { everyOption, type WatchFlags, watch } from "./watch.ts";

/** What a command found: as data, and as text for people. */
export interface View {
  /** An object for one line of JSON, or a list for a line each. */
  readonly data: object;
  readonly text: (screen: Screen) => string;
  /** For people: that there is more, or what to do next. */
  readonly note?: string | null;
}

/** A command that looks and changes nothing. */
export interface Reading<Flags extends object> {
  /** Such as "lag <stream> <group>". */
  readonly usage: string;
  /** In a few words, without a full stop. */
  readonly summary: string;
  readonly options?: (command: Command) => unknown;
  /** Has --watch. Default false. */
  readonly isWatchable?: boolean;
  readonly look: (session: Session, args: readonly string[], flags: Flags) => Promise<View>;
}

/** Looks once, or with --watch again and again. */
export const reading = <Flags extends object>(spec: Reading<Flags>): CliCommand => ({
  register: (program, io, ended) => {
    const command = addCommand(program, spec.usage, spec.summary);
    spec.options?.(command);
    if (spec.isWatchable === true) addWatch(command);
    storeOptions(command).action(async () => {
      const flags = command.opts<Flags & StoreFlags & WatchFlags>();
      ended(
        await withStore(
          io,
          flags,
          async (session) => {
            const look = (): Promise<View> => spec.look(session, command.args, flags);
            if (flags.watch === true) return watch(session, flags.every, look);
            return show(session, await look());
          },
          { heedsSignals: flags.watch === true },
        ),
      );
    });
  },
});

const addWatch = (command: Command): Command =>
  command
    .option("--watch", "look again and again, and show what changes")
    .addOption(everyOption("how often to look with --watch"));

const show = ({ print }: Session, { data, text, note }: View): number => {
  if (!print.isJson) print.text(text(print.screen));
  else if (Array.isArray(data)) for (const item of data) print.value(item);
  else print.value(data);
  if (note != null) print.note(note);
  return 0;
};
