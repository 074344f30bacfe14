/** What an error of MongoDB, of its driver or of the network means here. */
import { RheoError } from "@rheo/core";

/** Server codes that are told apart: https://www.mongodb.com/docs/manual/reference/error-codes/ */
const CODE = {
  unauthorized: 13,
  authenticationFailed: 18,
  illegalOperation: 20,
  noSuchTransaction: 251,
  writeConflict: 112,
  duplicateKey: 11_000,
} as const;

/** Somebody else changed what an operation had read: it is begun again. Never leaves this package. */
export class Conflict extends Error {
  constructor() {
    super("another operation changed the same records first");
    this.name = "Conflict";
  }
}

/** By looks: an application may bring a driver of its own. */
export const hasLabel = (error: unknown, label: string): boolean => {
  if (!(error instanceof Error) || !("hasErrorLabel" in error) || typeof error.hasErrorLabel !== "function") return false;
  return error.hasErrorLabel(label) === true;
};

const codeOf = (error: unknown): number | null =>
  error instanceof Error && "code" in error && typeof error.code === "number" ? error.code : null;

export const isDuplicateKey = (error: unknown): boolean => codeOf(error) === CODE.duplicateKey;

/** Nothing was applied, and the same transaction may simply be run again. */
export const isConflict = (error: unknown): boolean =>
  error instanceof Conflict ||
  isDuplicateKey(error) ||
  hasLabel(error, "TransientTransactionError") ||
  codeOf(error) === CODE.writeConflict ||
  codeOf(error) === CODE.noSuchTransaction;

/** Whether the connection, and not the server, ended it. */
export const isNetwork = (error: unknown): boolean =>
  error instanceof Error && /^Mongo(Network|ServerSelection|PoolCleared|WaitQueueTimeout)/.test(error.name);

export const isCommitUnknown = (error: unknown): boolean => hasLabel(error, "UnknownTransactionCommitResult");

const ADVICE: Readonly<Record<number, string>> = {
  [CODE.unauthorized]: "the user lacks a permission; grant it readWrite on the database",
  [CODE.authenticationFailed]: "the server refused the user or password",
  [CODE.illegalOperation]: "the server takes no transactions; run it as a replica set",
  [CODE.writeConflict]: "it conflicted with others every time, or with a transaction that was left open",
};

const reasonOf = (cause: unknown): string => {
  const code = codeOf(cause);
  const advice = code === null ? undefined : ADVICE[code];
  const said = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof Conflict) return "it conflicted with others every time";
  if (advice !== undefined) return `${advice} (${said})`;
  return isNetwork(cause) ? `the server does not answer (${said})` : said;
};

/** Nothing was applied. */
export const unavailable = (cause: unknown): RheoError =>
  RheoError.is(cause) ? cause : new RheoError("unavailable", `MongoDB: ${reasonOf(cause)}. Nothing was written.`, {}, { cause });

export const outcomeUnknown = (cause: unknown): RheoError =>
  new RheoError(
    "outcome_unknown",
    `MongoDB: the answer to a write was lost, and whether it took effect cannot be known. The same call may be repeated. (${reasonOf(cause)})`,
    {},
    { cause },
  );

export const closed = (): RheoError => new RheoError("closed", "This MongoDB backend has been closed.");

export const invalid = (path: string, message: string): RheoError => new RheoError("invalid_option", message, { path });
