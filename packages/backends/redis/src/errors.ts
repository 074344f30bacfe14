/** What an error of Redis, of its driver or of the network means here. */
import { RheoError } from "@rheo/core";

/** What to do, by the code that an error reply begins with. */
const ADVICE: Readonly<Record<string, string>> = {
  OOM: "the server's memory is used up (maxmemory); make room, raise maxmemory or trim streams",
  READONLY: "the server is a replica, which only reads; connect to the master",
  LOADING: "the server is loading its data after a start",
  CLUSTERDOWN: "the cluster does not serve this slot now; a master is missing and no replica has taken over",
  MOVED: "the server is part of a Cluster; open it with redis({ nodes }), or with cluster=true in the URL",
  CROSSSLOT: "the server is part of a Cluster; open it with redis({ nodes }), or with cluster=true in the URL",
  TRYAGAIN: "the slot is being moved to another node",
  MASTERDOWN: "the server is a replica that has lost its master",
  NOREPLICAS: "the master has fewer replicas than its min-replicas-to-write asks for",
  MISCONF: "the server cannot write to its disk, and refuses writes until it can",
  WRONGPASS: "the server refused the user or password",
  NOAUTH: "the server asks for a password",
  NOPERM: "the user lacks a permission; the README lists the commands, keys and channels that Rheo needs",
  BUSY: "the server is busy with a script of somebody else",
  NOSCRIPT: "the server forgets scripts as soon as they are loaded",
};
/** What to do, by a part of the message. */
const ADVICE_BY_TEXT: readonly (readonly [RegExp, string])[] = [
  [/max number of clients/, "the server has no connections left; raise maxclients"],
  [/unknown command/, "the server does not know or has forbidden a command that Rheo needs"],
  [/DB index is out of range/, "the database does not exist; a Cluster has only 0"],
  [/non[ -]local key/, "the slot is being moved to another node"],
  [/cluster support disabled/, "the server is not part of a Cluster; open it with redis({ url })"],
  [/invalid (username-password|password)/, "the server refused the user or password"],
];
/** Errors that a second try at once would meet again. */
const LASTING: ReadonlySet<string> = new Set(["WRONGPASS", "NOAUTH", "NOPERM"]);

/** Whether the server itself refused the command: then nothing of it was applied. */
export const isRefusal = (error: unknown): error is Error => error instanceof Error && error.name === "ReplyError";

/** The code that an error reply begins with, such as "READONLY"; null for any other error. */
export const codeOf = (error: unknown): string | null => (isRefusal(error) ? wordOf(error.message) : null);

/** Of those that the server raises inside a script, the ones that it raises before the first write only. */
const BEFORE_WRITES: ReadonlySet<string> = new Set(["OOM", "READONLY", "MISCONF", "NOREPLICAS"]);

/**
 * Whether a script was ended by an error that may have come after its first write, which then stays: by a fault of ours, or by a
 * permission that is missing for some command.
 */
export const isBreak = (error: unknown): boolean =>
  isRefusal(error) &&
  error.message.includes("user_script") &&
  !isMoving(error) &&
  !BEFORE_WRITES.has(wordOf(error.message) ?? "");

/** A script met a slot that is being moved, before it wrote anything: see `Connection.run`. */
export const isMoving = (error: unknown): boolean => isRefusal(error) && /non[ -]local key/.test(error.message);

const wordOf = (message: string): string | null => /^([A-Z]+)\b/.exec(message)?.[1] ?? null;

/** Whether connecting again is of no use until somebody changes a setting. */
export const isLasting = (error: unknown): boolean =>
  LASTING.has(codeOf(error) ?? "") ||
  (isRefusal(error) && /DB index is out of range|invalid (username|password)/.test(error.message));

/** What the driver says of settings of its own, or of nothing at all. */
const isBareLoss = (error: unknown): boolean =>
  error instanceof Error && (error.name === "MaxRetriesPerRequestError" || error.message === "Connection is closed.");

const adviceOn = (error: unknown): string => {
  if (isBareLoss(error)) return "the connection could not be made, or broke";
  const said = (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
  const code = codeOf(error);
  const advice = ADVICE_BY_TEXT.find(([text]) => text.test(said))?.[1] ?? (code === null ? undefined : ADVICE[code]);
  return advice === undefined ? said : `${advice} (${said})`;
};

/** Nothing was applied. */
export const unavailable = (cause: unknown): RheoError =>
  RheoError.is(cause)
    ? cause
    : new RheoError("unavailable", `Redis: ${adviceOn(cause)}. Nothing was written.`, {}, { cause: withoutArguments(cause) });

export const outcomeUnknown = (cause: unknown): RheoError =>
  new RheoError(
    "outcome_unknown",
    `Redis: the connection was lost before the answer came, and whether the write took effect cannot be known. The same call may be repeated. (${adviceOn(cause)})`,
    {},
    { cause: withoutArguments(cause) },
  );

/** Something of it may have been applied, and something not. */
export const broken = (cause: unknown): RheoError =>
  new RheoError(
    "outcome_unknown",
    `Redis: a script was ended by an error before it was done, and what it had written by then stays. (${adviceOn(cause)})`,
    {},
    { cause: withoutArguments(cause) },
  );

/** The write is done, and may be lost if the master fails now. */
export const notReplicated = (has: number, wanted: number, timeoutMs: number): RheoError =>
  new RheoError(
    "outcome_unknown",
    `Redis: the master has the write, but only ${has} of ${wanted} replicas confirmed it within ${timeoutMs} ms. The same call may be repeated.`,
  );

export const noConnection = (timeoutMs: number, cause: unknown): RheoError =>
  new RheoError(
    "unavailable",
    `Redis: no connection was to be had within ${timeoutMs} ms${cause === null ? "" : `; ${adviceOn(cause)}`}. Nothing was written.`,
    {},
    cause === null ? undefined : { cause: withoutArguments(cause) },
  );

export const ended = (): RheoError =>
  new RheoError(
    "unavailable",
    "Redis: the client has been ended (by quit or disconnect), and connects no more. Nothing was written.",
  );

export const closed = (): RheoError => new RheoError("closed", "This Redis backend has been closed.");

/** The driver hangs a command's arguments on its error: payloads, and the password when logging in. */
const withoutArguments = (error: unknown): unknown => {
  if (!(error instanceof Error) || !("command" in error)) return error;
  const copy = new Error(error.message);
  copy.name = error.name;
  if (error.stack !== undefined) copy.stack = error.stack;
  return copy;
};
