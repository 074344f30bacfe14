/** A command from its bytes to its answer: faults, sessions and transactions around the command itself. */

import { setTimeout as sleep } from "node:timers/promises";
import { Int32 } from "bson";
import { CommandError } from "../errors.ts";
import type { Server } from "../server.ts";
import { toTimestamp } from "../storage/time.ts";
import { type Doc, isDoc, isNumeric, toNumber } from "../values/document.ts";
import { COMMANDS, type CommandEntry } from "./commands.ts";
import { labelsOf } from "./labels.ts";
import { Request } from "./request.ts";
import { noTransaction } from "./transactions.ts";

/** Null when the connection is to be cut instead. */
export const execute = async (server: Server, name: string, body: Doc): Promise<Doc | null> => {
  const delay = server.faults.take("delay", name);
  if (delay !== null) await sleep(delay.delayMs);
  if (server.faults.take("dropCommand", name) !== null) return null;
  const request = new Request(server, name, body);
  const answer = await attempt(request);
  return server.faults.take("dropAnswer", name) === null ? answer : null;
};

const attempt = async (request: Request): Promise<Doc> => {
  try {
    const answer = await run(request);
    return { ...answer, ok: new Int32(1), ...times(request), ...unsatisfied(request.body.writeConcern) };
  } catch (error) {
    if (request.transaction !== null) request.server.store.abort(request.transaction);
    const known =
      error instanceof CommandError ? error : new CommandError(1, error instanceof Error ? (error.stack ?? "") : String(error));
    const labels = labelsOf(request, known.code);
    return {
      ok: new Int32(0),
      errmsg: known.message,
      code: new Int32(known.code),
      codeName: known.codeName,
      ...known.fields,
      ...(labels.length > 0 ? { errorLabels: labels } : {}),
      ...times(request),
    };
  }
};

const times = ({ server }: Request): Doc => {
  const now = toTimestamp(server.store.now);
  return { $clusterTime: { clusterTime: now }, operationTime: now };
};

const run = async (request: Request): Promise<Doc> => {
  const { name, server } = request;
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) throw new CommandError(59, `no such command: '${name}'`);
  joinSession(request, entry);
  if (entry.writes && !server.primary) throw new CommandError(10_107, "not primary");
  if (entry.reads && !server.primary && readsPrimary(request.body))
    throw new CommandError(13_435, "not primary and secondaryOk=false");
  const error = server.faults.take("error", name);
  if (error !== null) throw new CommandError(error.code, "an error that a test asked for");
  if (request.body.autocommit === false && server.faults.take("conflict", name) !== null) {
    if (request.session?.transaction) server.store.abort(request.session.transaction);
    throw new CommandError(
      112,
      "WriteConflict error: a test asked for it. Please retry your operation or multi-document transaction.",
    );
  }
  checkConcerns(request);
  return entry.run(request);
};

/** Finds the session's transaction, or begins it; or remembers that this is a write that may be retried. */
const joinSession = (request: Request, entry: CommandEntry): void => {
  const { sessionId, transactionNumber, server, body, name } = request;
  if (sessionId === null || transactionNumber === null) return;
  const session = server.sessions.at(sessionId, transactionNumber);
  request.session = session;
  const isEnd = name === "commitTransaction" || name === "abortTransaction";
  if (body.autocommit !== false) {
    if (session.transaction !== null) throw new CommandError(50_767, "a retryable write cannot use the number of a transaction");
    return;
  }
  if (body.startTransaction === true) {
    if (session.transaction !== null || session.committedBefore || session.statements.size > 0)
      throw new CommandError(117, `a transaction with the number ${transactionNumber} has begun already`);
    server.sessions.begin(session);
  }
  const { transaction } = session;
  if (isEnd) return;
  if (transaction === null) throw noTransaction(request);
  if (transaction.state === "committed") throw new CommandError(256, `Transaction ${transactionNumber} has been committed.`);
  if (transaction.state === "aborted") throw noTransaction(request);
  request.transaction = transaction;
  if (!entry.inTransaction) throw new CommandError(263, `Cannot run '${name}' in a multi-document transaction.`);
};

const readsPrimary = ({ $readPreference: preference }: Doc): boolean => !isDoc(preference) || preference.mode === "primary";

const LEVELS = ["local", "majority", "snapshot", "linearizable", "available"];

const checkConcerns = ({ body, name, transaction }: Request): void => {
  const isEnd = name === "commitTransaction" || name === "abortTransaction";
  if (body.autocommit === false && !isEnd && body.writeConcern !== undefined)
    throw new CommandError(72, `${name} is not allowed to have a writeConcern within a transaction`);
  if (transaction !== null && body.startTransaction !== true && isDoc(body.readConcern) && body.readConcern.level !== undefined)
    throw new CommandError(72, "Only the first command in a transaction may specify a readConcern");
  const level = isDoc(body.readConcern) ? body.readConcern.level : undefined;
  if (level !== undefined && !LEVELS.some((known) => known === level)) throw new CommandError(9, "unknown read concern level");
};

/** There is one node: it is the majority, but not two. */
const unsatisfied = (concern: unknown): Doc => {
  if (!isDoc(concern) || !isNumeric(concern.w) || toNumber(concern.w) <= 1) return {};
  return {
    writeConcernError: { code: new Int32(100), codeName: "UnsatisfiableWriteConcern", errmsg: "Not enough data-bearing nodes" },
  };
};
