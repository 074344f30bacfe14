/** Why a thread died, as one of a few words: the reason itself may be anything that was thrown. */
export type DeathClass = "exit" | "error" | "memory" | "timeout" | "lost" | "stopped";

/** By the beginnings of what the runtime writes of deaths that it brought about or that Node reports; the rest was thrown by a handler. */
const CLASSES: readonly (readonly [RegExp, DeathClass])[] = [
  [/^it exited with code /, "exit"],
  [/^a handler timed out after /, "timeout"],
  [/^a handler went on after its lease was lost/, "lost"],
  [/^the consumer has stopped/, "stopped"],
  [/^(Error: )?Worker terminated due to reaching memory limit/, "memory"],
];

export const deathClass = (reason: string): DeathClass => CLASSES.find(([pattern]) => pattern.test(reason))?.[1] ?? "error";
