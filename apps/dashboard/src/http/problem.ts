import { RheoError, type RheoErrorCode } from "@rheo/core";

/** Of `code`: one of Rheo's, or one of the dashboard's own. */
export interface Problem {
  readonly code: RheoErrorCode | "busy" | "unauthorized" | "forbidden_host" | "not_found" | "internal";
  readonly message: string;
}

const STATUS: Partial<Record<Problem["code"], number>> = {
  stream_not_found: 404,
  group_not_found: 404,
  cursor_not_found: 404,
  not_found: 404,
  invalid_name: 400,
  invalid_option: 400,
  invalid_partition: 400,
  invalid_query: 400,
  unsupported: 400,
  unauthorized: 401,
  forbidden_host: 403,
  busy: 503,
  closed: 503,
  unavailable: 503,
  outcome_unknown: 503,
};

export const statusOf = ({ code }: Problem): number => STATUS[code] ?? 500;

/** A failure that the dashboard itself decides on. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(code: Problem["code"], message: string) {
    super(message);
    this.problem = { code, message };
  }
}

/** What a reader is told of an error: all of what was meant for people, nothing of a fault of ours but that there was one. */
export const problemOf = (error: unknown): Problem => {
  if (error instanceof ProblemError) return error.problem;
  if (RheoError.is(error)) return { code: error.code, message: error.message };
  process.emitWarning(error instanceof Error ? error : String(error), "RheoDashboardWarning");
  return { code: "internal", message: "The dashboard failed at this. The process that serves it has told more in a warning." };
};
