/** What the server remembers of logical sessions: the open transaction, or what retryable statements came to. */
import { CommandError } from "../errors.ts";
import type { Doc } from "../values/document.ts";
import type { SessionNote } from "./journal.ts";
import type { Store } from "./store.ts";
import type { Transaction } from "./transaction.ts";

/** Sessions not used for long are forgotten first, as the server forgets them after half an hour. */
const MAX_SESSIONS = 20_000;

export interface Session {
  readonly id: string;
  transactionNumber: bigint;
  /** Null while the number is that of a retryable write. */
  transaction: Transaction | null;
  /** Of a transaction that a restart only knows to have been committed. */
  committedBefore: boolean;
  readonly statements: Map<number, Doc>;
  timer: NodeJS.Timeout | null;
}

export class Sessions {
  readonly #store: Store;
  readonly #sessions: Map<string, Session> = new Map();
  /** A transaction that is open for longer is aborted: as `transactionLifetimeLimitSeconds`. */
  lifetimeMs: number;

  constructor(store: Store, lifetimeMs: number) {
    this.#store = store;
    this.lifetimeMs = lifetimeMs;
  }

  /** The session at that number: a greater one than before ends what was there. */
  at(id: string, transactionNumber: bigint): Session {
    const session = this.#use(id);
    if (transactionNumber < session.transactionNumber)
      throw new CommandError(
        225,
        `Cannot start transaction ${transactionNumber} on session because a newer transaction ${session.transactionNumber} has already started.`,
      );
    if (transactionNumber > session.transactionNumber) this.#advance(session, transactionNumber);
    return session;
  }

  begin(session: Session): Transaction {
    const transaction = this.#store.begin(false);
    session.transaction = transaction;
    session.timer = setTimeout(() => this.#store.abort(transaction), this.lifetimeMs);
    void transaction.ended.then(() => clearTimeout(session.timer ?? undefined));
    return transaction;
  }

  /** After a restart. */
  recall({ session: id, transactionNumber, statement, result }: SessionNote): void {
    const session = this.#use(id);
    if (transactionNumber > session.transactionNumber) this.#advance(session, transactionNumber);
    if (statement === null) session.committedBefore = true;
    else session.statements.set(statement, result);
  }

  /** The client is done with it. */
  end(id: string): void {
    const session = this.#sessions.get(id);
    if (session?.transaction) this.#store.abort(session.transaction);
  }

  #advance(session: Session, transactionNumber: bigint): void {
    if (session.transaction !== null) this.#store.abort(session.transaction);
    session.transactionNumber = transactionNumber;
    session.transaction = null;
    session.committedBefore = false;
    session.statements.clear();
  }

  #use(id: string): Session {
    const session = this.#sessions.get(id) ?? fresh(id);
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    if (this.#sessions.size > MAX_SESSIONS) this.#forgetOldest();
    return session;
  }

  #forgetOldest(): void {
    for (const [id, { transaction }] of this.#sessions)
      if (transaction?.state !== "open") {
        this.#sessions.delete(id);
        return;
      }
  }
}

const fresh = (id: string): Session => ({
  id,
  transactionNumber: -1n,
  transaction: null,
  committedBefore: false,
  statements: new Map(),
  timer: null,
});
