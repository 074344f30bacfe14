/** Ends of transactions and sessions. Both ends can be asked for again, as a client that got no answer does. */
import { Binary } from "bson";
import { CommandError } from "../errors.ts";
import { docsOf } from "../values/expect.ts";
import type { Command, Request } from "./request.ts";

export const commitTransaction: Command = (request) => {
  request.allow("recoveryToken");
  const session = sessionOf(request);
  if (session.committedBefore || session.transaction?.state === "committed") return {};
  if (session.transaction?.state !== "open") throw noTransaction(request);
  request.server.store.commit(session.transaction, {
    keep: true,
    session: session.id,
    transactionNumber: session.transactionNumber,
    statement: null,
    result: {},
  });
  return {};
};

export const abortTransaction: Command = (request) => {
  request.allow("recoveryToken");
  const session = sessionOf(request);
  if (session.committedBefore || session.transaction?.state === "committed")
    throw new CommandError(256, `Transaction ${session.transactionNumber} has been committed.`);
  if (session.transaction?.state !== "open") throw noTransaction(request);
  request.server.store.abort(session.transaction);
  return {};
};

const sessionOf = (request: Request): NonNullable<Request["session"]> => {
  if (request.session === null || request.body.autocommit !== false)
    throw new CommandError(72, `${request.name} must be run within a transaction`);
  return request.session;
};

export const noTransaction = (request: Request): CommandError =>
  new CommandError(
    251,
    `Given transaction number ${request.transactionNumber ?? ""} does not match any in-progress transactions, or it has been aborted.`,
  );

export const endSessions: Command = (request) => {
  for (const { id } of docsOf(request.body.endSessions, "endSessions"))
    if (id instanceof Binary) request.server.sessions.end(Buffer.from(id.value()).toString("hex"));
  return {};
};
