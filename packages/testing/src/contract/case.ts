import type { Capabilities } from "@rheo/core";
import type { World } from "./world.ts";

/** One fact that holds on every backend, as data: run by vitest, and by the mutant runner. */
export interface ContractCase {
  /** The rule it proves, such as "F2". */
  readonly rule: string;
  /** Other rules and known faults that it guards against, such as "O03" and "B22". */
  readonly also: readonly string[];
  /** The rule number, the fact, and the other ids. */
  readonly title: string;
  /** Whether it applies; where a capability is off another case states the weaker rule. */
  readonly applies: (capabilities: Capabilities) => boolean;
  run(world: World): Promise<void>;
}

/** `ids`: the rule first, then what else it guards, separated by spaces. */
export const rule = (
  ids: string,
  fact: string,
  run: (world: World) => Promise<void>,
  applies: (capabilities: Capabilities) => boolean = () => true,
): ContractCase => {
  const [number = "", ...also] = ids.split(" ");
  return { rule: number, also, title: `${number} · ${fact}${also.length === 0 ? "" : ` (${also.join(" ")})`}`, applies, run };
};
