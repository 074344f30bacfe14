/** The parts of the server, and what it is: primary of a replica set of one, but for a while after it has stepped down. */
import { Clock } from "./clock.ts";
import { Cursors } from "./commands/cursors.ts";
import { Faults } from "./faults.ts";
import { Journal } from "./storage/journal.ts";
import { replay } from "./storage/replay.ts";
import { Sessions } from "./storage/sessions.ts";
import { Store } from "./storage/store.ts";

/** `transactionLifetimeLimitSeconds` of the server. */
const LIFETIME_MS = 60_000;

export interface ServerOptions {
  readonly port: number;
  readonly journal: string;
  /** Whether each commit is also flushed to the disk. */
  readonly sync: boolean;
}

export class Server {
  readonly clock: Clock = new Clock();
  readonly faults: Faults = new Faults();
  readonly cursors: Cursors = new Cursors();
  readonly store: Store = new Store(this.clock);
  readonly sessions: Sessions = new Sessions(this.store, LIFETIME_MS);
  readonly me: string;
  primary = true;
  /** Raised at each start and step-down, so that drivers take the answer for that of a newer election. */
  term: number;

  constructor({ port, journal, sync }: ServerOptions) {
    this.me = `127.0.0.1:${port}`;
    replay(journal, this.store, this.sessions);
    this.store.keepIn(new Journal(journal, sync));
    this.term = Math.floor(this.clock.nowMs());
  }

  /** No primary for so long; open transactions are lost. */
  stepDown(forMs: number): void {
    this.primary = false;
    for (const transaction of this.store.openTransactions) this.store.abort(transaction);
    setTimeout(() => {
      this.term++;
      this.primary = true;
    }, forMs);
  }
}
