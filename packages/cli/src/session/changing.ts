/** Commands that change something: each says first what it would do, so that --dry-run, the question and the answer agree. */
import type { Command } from "commander";
import { addCommand, type CliCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { storeOptions } from "../options/store.ts";
import { inert } from "../output/inert.ts";
import { confirm } from "./confirm.ts";
import { type Session, type StoreFlags, withStore } from "./session.ts";

/** What a command is about to do. */
export interface Plan {
  /** As an order, such as `Remove 12 events of stream "orders"`. */
  readonly order: string;
  /** For --json of a dry run: what it would come to. */
  readonly expected: object;
  /** Asks before it; default false. */
  readonly isDestructive?: boolean;
  /** Does it, and tells what it came to: for --json with the same names as `expected`, and as a sentence. */
  readonly apply: () => Promise<{ readonly data: object; readonly told: string }>;
}

export interface ChangeFlags extends StoreFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** A command that changes something. */
export interface Changing<Flags extends object> {
  /** Such as "trim <stream>". */
  readonly usage: string;
  /** In a few words, without a full stop. */
  readonly summary: string;
  /** Has --yes. Default false. */
  readonly asks?: boolean;
  readonly options?: (command: Command) => unknown;
  /** What is thrown here is thrown by a dry run as well. */
  readonly plan: (session: Session, args: readonly string[], flags: Flags) => Promise<Plan>;
}

export const changing = <Flags extends object>(spec: Changing<Flags>): CliCommand => ({
  register: (program, io, ended) => {
    const command = addCommand(program, spec.usage, spec.summary);
    spec.options?.(command);
    changeOptions(command, spec.asks === true);
    storeOptions(command).action(async () => {
      const flags = command.opts<Flags & ChangeFlags>();
      ended(
        await withStore(io, flags, async (session) => carryOut(session, flags, await spec.plan(session, command.args, flags))),
      );
    });
  },
});

/** `--dry-run`, and `--yes` where there is a question. */
export const changeOptions = (command: Command, asks: boolean): void => {
  command.option("--dry-run", "say what would happen, and change nothing");
  if (asks) command.option("-y, --yes", "do not ask");
};

/** Tells a dry run; else asks where that is due, and does it. */
export const carryOut = async ({ io, print }: Pick<Session, "io" | "print">, flags: ChangeFlags, plan: Plan): Promise<number> => {
  if (flags.dryRun === true) {
    if (print.isJson) print.value({ dryRun: true, ...plan.expected });
    else print.text(`Would ${inert(plan.order.charAt(0).toLowerCase() + plan.order.slice(1))}.`);
    return EXIT.ok;
  }
  if (plan.isDestructive === true && flags.yes !== true && !(await confirm(io, plan.order))) {
    print.note("Nothing was changed.");
    return EXIT.failed;
  }
  const { data, told } = await plan.apply();
  if (print.isJson) print.value({ dryRun: false, ...data });
  else print.text(inert(told));
  return EXIT.ok;
};
