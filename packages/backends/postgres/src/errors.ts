/** What an error of PostgreSQL, of its driver or of the network means here. */
import { RheoError } from "@rheo/core";

/** SQLSTATEs (PostgreSQL manual, appendix A) after which the same statement may simply be tried again: nothing was applied. */
const TRANSIENT: ReadonlySet<string> = new Set(["40001", "40P01"]);

/**
 * A named statement that is not on this connection, or was made by somebody else, or whose function has been replaced since (by a newer
 * version of Rheo): nothing was applied.
 */
const NAMELESS: ReadonlySet<string> = new Set(["26000", "42P05", "0A000"]);

/** What to do, by SQLSTATE or by its class. */
const ADVICE: Readonly<Record<string, string>> = {
  "08": "the connection failed; check that the server is up and can be reached",
  "28": "the server refused the user or password",
  "3D": "the database does not exist; create it first",
  "3F": "the schema is not there; run rheo.migrate() or open without { migrate: false }",
  "42P01": "a table of Rheo's is not there; run rheo.migrate() or open without { migrate: false }",
  "42883": "a function of Rheo's is not there; run rheo.migrate() or open without { migrate: false }",
  "42501": "the user lacks a permission; grant it usage of the schema, and all on what is in it",
  "25006": "the server only reads (a standby, or one with default_transaction_read_only); connect to the primary",
  "53100": "the server's disk is full; make room and try again",
  "53200": "the server is out of memory",
  "53300": "the server has no connections left; lower maxConnections, raise max_connections or put a pooler between",
  "55P03": "a lock was not to be had in time; somebody holds it, perhaps a transaction that was left open",
  "57014": "the statement was cancelled, or took longer than statement_timeout",
  "57P01": "the server is shutting down, or an administrator ended the connection",
  "57P02": "the server crashed and is recovering",
  "57P03": "the server is starting up, or does not take connections now",
  "40001": "the transaction conflicted with others every time",
  "40P01": "the transaction was in a deadlock with others every time",
};

/** The SQLSTATE of an error that the server sent; null for any other. */
const sqlState = (error: unknown): string | null => {
  if (typeof error !== "object" || error === null) return null;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && typeof Reflect.get(error, "severity") === "string"
    ? code
    : null;
};

/**
 * Whether the server refused the statement and went on: then nothing of it was applied. Not so when it sent a FATAL error, which may have
 * come after the commit.
 */
export const isRefusal = (error: unknown): boolean =>
  sqlState(error) !== null && Reflect.get(error as object, "severity") === "ERROR"; // an object, as sqlState said

export const isTransient = (error: unknown): boolean => isRefusal(error) && TRANSIENT.has(sqlState(error) ?? "");

/** Whether the statement may do without its name. */
export const isOfName = (error: unknown): boolean => isRefusal(error) && NAMELESS.has(sqlState(error) ?? "");

const adviceOn = (error: unknown): string => {
  const state = sqlState(error);
  const advice = state === null ? undefined : (ADVICE[state] ?? ADVICE[state.slice(0, 2)]);
  const said = error instanceof Error ? error.message : String(error);
  return advice === undefined ? said : `${advice} (${said})`;
};

/** Nothing was applied. */
export const unavailable = (cause: unknown): RheoError =>
  RheoError.is(cause)
    ? cause
    : new RheoError("unavailable", `PostgreSQL: ${adviceOn(cause)}. Nothing was written.`, {}, { cause });

export const outcomeUnknown = (cause: unknown): RheoError =>
  new RheoError(
    "outcome_unknown",
    `PostgreSQL: the connection was lost before the answer came, and whether the write took effect cannot be known. The same call may be repeated. (${adviceOn(cause)})`,
    {},
    { cause },
  );

export const closed = (): RheoError => new RheoError("closed", "This PostgreSQL backend has been closed.");

export const noConnection = (timeoutMs: number): RheoError =>
  new RheoError(
    "unavailable",
    `PostgreSQL: no connection was to be had within ${timeoutMs} ms; all of the pool are in use, or the server does not answer. Nothing was written.`,
  );
