/** What is printed of a failure: what it is, on what, and what to do. */
import { RheoError, type RheoErrorCode, type RheoErrorDetails } from "@rheo/core";
import { EXIT } from "./exit-code.ts";
import { colorsFor, type Io } from "./io.ts";
import { inert, inertJson } from "./output/inert.ts";

/** A failure that the command line finds by itself. */
export class CommandFailure extends Error {
  readonly code: "event_not_found" | "input" | "differs";
  readonly details: RheoErrorDetails;

  constructor(code: CommandFailure["code"], message: string, details: RheoErrorDetails = {}) {
    super(message);
    this.name = "CommandFailure";
    this.code = code;
    this.details = details;
  }
}

/** With these the command line is wrong, not the store. */
const USAGE: ReadonlySet<string> = new Set<RheoErrorCode>([
  "invalid_option",
  "invalid_name",
  "invalid_query",
  "invalid_partition",
  "confirm_required",
  "unsupported",
]);

/** What to do at a shell, where the message speaks to programs. */
const HINTS: Readonly<Partial<Record<RheoErrorCode, string>>> = {
  stream_not_found: "See what there is with: rheo streams",
  group_not_found: "See what there is with: rheo groups STREAM",
  schema_outdated: "Run: rheo migrate (the command line never changes a store by itself)",
  unavailable: "See what is wrong with: rheo doctor",
  outcome_unknown: "It may have happened: look before you repeat it",
};

/** Prints it on stderr, as JSON if the others are, and gives the exit code. */
export const fail = (error: unknown, io: Io, isJson: boolean): number => {
  const told = read(error);
  io.stderr.write(`${isJson ? inertJson({ error: told }) : asText(told, io)}\n`);
  return USAGE.has(told.code) ? EXIT.usage : EXIT.failed;
};

/** A command line that commander refuses, as JSON. */
export const usageAsJson = (message: string): string => inertJson({ error: { code: "usage", message, details: {}, hint: null } });

interface Told {
  readonly code: string;
  readonly message: string;
  readonly details: RheoErrorDetails;
  readonly hint: string | null;
}

const read = (error: unknown): Told => {
  if (RheoError.is(error)) {
    const { code, message, details } = error;
    return { code, message, details, hint: HINTS[code] ?? null };
  }
  if (error instanceof CommandFailure) return { code: error.code, message: error.message, details: error.details, hint: null };
  // a fault of ours, and shows where
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: "internal", message, details: {}, hint: null };
};

const asText = ({ code, message, hint }: Told, io: Io): string => {
  const { red, dim } = colorsFor(io.stderr, io.env);
  const lines = message.split("\n").map(inert).join("\n");
  return `${red("rheo:")} ${lines} ${dim(`(${code})`)}${hint === null ? "" : `\n${dim(hint)}`}`;
};
