/** A command as it came, with what is common to all of them read once. */
import { Binary, Long, Timestamp } from "bson";
import { CommandError } from "../errors.ts";
import { evaluate } from "../expressions/evaluate.ts";
import { Scope } from "../expressions/scope.ts";
import type { Server } from "../server.ts";
import type { SessionNote } from "../storage/journal.ts";
import type { Session } from "../storage/sessions.ts";
import { fromTimestamp, toTimestamp } from "../storage/time.ts";
import { Blocked, Transaction } from "../storage/transaction.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { docOf, integer, textOf } from "../values/expect.ts";

const evaluateAll = (variables: Doc, scope: Scope): Doc =>
  Object.fromEntries(Object.entries(variables).map(([name, part]) => [name, evaluate(part, scope) ?? null]));

/** Fields that every command may have, which are handled before it or say nothing to a server of one node. */
const COMMON = [
  ..."$db lsid txnNumber autocommit startTransaction readConcern writeConcern $clusterTime $readPreference".split(" "),
  ..."maxTimeMS comment apiVersion apiStrict apiDeprecationErrors let stmtId stmtIds $audit $client".split(" "),
];

export class Request {
  readonly server: Server;
  readonly name: string;
  readonly body: Doc;
  readonly scope: Scope;
  session: Session | null = null;
  /** Set within a transaction of several statements. */
  transaction: Transaction | null = null;

  constructor(server: Server, name: string, body: Doc) {
    this.server = server;
    this.name = name;
    this.body = body;
    const scope = new Scope(new Date(server.clock.nowMs()));
    this.scope = isDoc(body.let) ? scope.with(evaluateAll(body.let, scope)) : scope;
  }

  get database(): string {
    return textOf(this.body.$db, "$db");
  }

  get target(): string {
    return textOf(this.body[this.name], this.name);
  }

  get sessionId(): string | null {
    const lsid = this.body.lsid;
    if (lsid === undefined) return null;
    const { id } = docOf(lsid, "lsid");
    if (!(id instanceof Binary)) throw new CommandError(14, "lsid.id must be a UUID");
    return Buffer.from(id.value()).toString("hex");
  }

  get transactionNumber(): bigint | null {
    const number = this.body.txnNumber;
    if (number === undefined) return null;
    if (!(number instanceof Long)) throw new CommandError(14, "txnNumber must be a long");
    return number.toBigInt();
  }

  /** Refuses all options but these. */
  allow(...names: readonly string[]): void {
    for (const name of Object.keys(this.body))
      if (name !== this.name && !names.includes(name) && !COMMON.includes(name)) {
        if (name === "collation" || name === "hint")
          throw new CommandError(115, `The double of MongoDB does not know ${name} of ${this.name}.`);
        throw new CommandError(40_415, `BSON field '${this.name}.${name}' is an unknown field.`);
      }
  }

  /** Reads see the transaction, or what is there now, or was at the time that is asked for. */
  view(): Transaction {
    return this.transaction ?? this.server.store.begin(true, this.#snapshotAt());
  }

  /** The time of a read outside of transactions that is to be repeatable, as its answer names it. */
  get repeatable(): Doc {
    const { readConcern } = this.body;
    if (this.transaction !== null || !isDoc(readConcern) || readConcern.level !== "snapshot") return {};
    return { atClusterTime: toTimestamp(this.#snapshotAt() ?? this.server.store.keepHistory()) };
  }

  #snapshotAt(): number | undefined {
    const { readConcern } = this.body;
    return isDoc(readConcern) && readConcern.atClusterTime instanceof Timestamp
      ? fromTimestamp(readConcern.atClusterTime)
      : undefined;
  }

  /**
   * One statement that writes: in the transaction of the command, or in one of its own, which waits for others that hold what it needs.
   * A statement of a retryable write that was done before gives what it came to then.
   */
  async statement(number: number, work: (transaction: Transaction) => Doc): Promise<Doc> {
    const { transaction, session } = this;
    if (transaction !== null) return work(transaction);
    const begun = session?.transactionNumber;
    const untilMs = this.#deadlineMs();
    for (;;) {
      // while it waited, the same may have been asked for again and be done
      const before = session?.statements.get(number);
      if (before !== undefined) return before;
      if (session?.transactionNumber !== begun) throw new CommandError(225, "a newer transaction number was used meanwhile");
      const holder = this.#alone(number, work);
      if (!(holder instanceof Transaction)) return holder;
      await this.#waitFor(holder, untilMs);
    }
  }

  /** What it came to, or whom it has to wait for. */
  #alone(number: number, work: (transaction: Transaction) => Doc): Doc | Transaction {
    const { store } = this.server;
    const transaction = store.begin(true);
    try {
      const result = work(transaction);
      store.commit(transaction, this.#note(number, result));
      this.session?.statements.set(number, result);
      return result;
    } catch (error) {
      store.abort(transaction);
      if (error instanceof Blocked) return error.holder;
      throw error;
    }
  }

  #note(statement: number, result: Doc): SessionNote | null {
    const { session } = this;
    return session && { keep: false, session: session.id, transactionNumber: session.transactionNumber, statement, result };
  }

  #deadlineMs(): number {
    const { maxTimeMS } = this.body;
    const limit = maxTimeMS === undefined ? 0 : integer(maxTimeMS, "maxTimeMS");
    return limit === 0 ? Number.POSITIVE_INFINITY : performance.now() + limit;
  }

  async #waitFor(holder: Transaction, untilMs: number): Promise<void> {
    if (untilMs === Number.POSITIVE_INFINITY) return holder.ended;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, untilMs - performance.now()));
      void holder.ended.then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
    if (performance.now() >= untilMs) throw new CommandError(50, "operation exceeded time limit");
  }
}

export type Command = (request: Request) => Doc | Promise<Doc>;
