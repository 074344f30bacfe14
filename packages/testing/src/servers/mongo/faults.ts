/** Faults that tests ask for by the command `rheoDouble`. */
import { CommandError } from "./errors.ts";
import { type Doc, isDoc, isNumeric, toNumber } from "./values/document.ts";
import { onlyFields } from "./values/expect.ts";

/** What happens to the next commands of a name, or to some of them at random. */
export interface Fault {
  readonly kind: "conflict" | "dropAnswer" | "dropCommand" | "delay" | "error";
  /** Null: any but those by which drivers watch. */
  readonly command: string | null;
  /** How often still; null for ever. */
  left: number | null;
  readonly probability: number;
  readonly delayMs: number;
  readonly code: number;
  /** Steps of the random numbers. */
  state: number;
}

const FIELDS = ["kind", "command", "times", "probability", "seed", "delayMs", "code"];
const KINDS = ["conflict", "dropAnswer", "dropCommand", "delay", "error"] as const;
const WATCHING = ["hello", "isMaster", "ismaster", "ping", "rheoDouble", "endSessions", "buildInfo"];

export class Faults {
  #faults: Fault[] = [];

  add(given: unknown): void {
    if (!isDoc(given)) throw new CommandError(14, "a fault is an object");
    onlyFields(given, "fault", FIELDS);
    const kind = KINDS.find((name) => name === given.kind);
    if (kind === undefined) throw new CommandError(2, `a fault is one of ${KINDS.join(", ")}`);
    this.#faults.push({
      kind,
      command: typeof given.command === "string" ? given.command : null,
      left: isNumeric(given.times) ? toNumber(given.times) : given.probability === undefined ? 1 : null,
      probability: numberOr(given, "probability", 1),
      delayMs: numberOr(given, "delayMs", 0),
      code: numberOr(given, "code", 0),
      state: numberOr(given, "seed", 1),
    });
  }

  clear(): void {
    this.#faults = [];
  }

  /** The fault of that kind that befalls this command, if one does. */
  take(kind: Fault["kind"], command: string): Fault | null {
    for (const fault of this.#faults) {
      if (fault.kind !== kind || (fault.command === null ? WATCHING.includes(command) : fault.command !== command)) continue;
      if (draw(fault) >= fault.probability) continue;
      if (fault.left !== null && --fault.left <= 0) this.#faults = this.#faults.filter((other) => other !== fault);
      return fault;
    }
    return null;
  }
}

const numberOr = (given: Doc, name: string, fallback: number): number => {
  const value = given[name];
  return isNumeric(value) ? toNumber(value) : fallback;
};

/** Mulberry32: small, and the same from the same seed. */
const draw = (fault: Fault): number => {
  fault.state = (fault.state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(fault.state ^ (fault.state >>> 15), 1 | fault.state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};
