import { type CorpusCase, EVERY_STORE } from "../corpus-case.ts";
import { postgres, proof, sqlite } from "../test-reference.ts";

export const postgresCases: readonly CorpusCase[] = [
  {
    id: "B97",
    kind: "A connection that breaks while idle or in the user's hands ends the process",
    rules: "F7",
    concerns: ["postgres"],
    tests: [
      proof(
        "corpus-postgres",
        "B97 in a pool of the user's that nobody listens to: idle, held and listening ones; the next call works",
        ["postgres"],
      ),
      postgres("faults", "connections ended at any statement lose nothing, and the process lives"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B99",
    kind: "After a silent reconnect the rest of a transaction goes on outside of it",
    rules: "F7 T8",
    concerns: ["postgres"],
    tests: [
      proof("corpus-postgres", "B99 between the statements of a transaction: nothing of it was done, neither append nor ack", [
        "postgres",
      ]),
      postgres("faults", "connections ended at any statement lose nothing, and the process lives"),
      postgres("cut", "a user's transaction whose COMMIT is cut can be repeated, and its effects are there once"),
    ],
    verdict: "holds",
    note: "Each operation is one statement.",
  },
  {
    id: "B100",
    kind: "The connection that listens breaks: nobody is woken any more, or it spins",
    rules: "storage",
    concerns: ["postgres"],
    tests: [
      proof(
        "corpus-postgres",
        "B100 one that listens, and a server that refuses for a while: few attempts meanwhile, and woken after",
        ["postgres"],
      ),
      postgres("wake", "a listener whose connection is ended listens again, and wakes once when it ends and once when it does"),
    ],
    verdict: "holds",
    note: "Polling is the truth, wake-ups are hints.",
  },
  {
    id: "B101",
    kind: "Behind a pooler in transaction mode listening is accepted and useless, and named statements fail",
    rules: "storage",
    concerns: ["postgres"],
    tests: [
      postgres("pgbouncer", "everything works over two shared connections: migrations, many callers at once, transactions"),
      postgres("pgbouncer", "no settings, named statements or locks stay behind on the shared connections"),
      postgres("wake", "with notify off nobody listens, nobody is notified, and the own process is still woken"),
    ],
    verdict: "holds",
    note: "Where no pooler is installed the first two say that they were not run.",
  },
  {
    id: "B102",
    kind: "A lock of a session is stranded behind a pooler, and later starts wait for ever",
    rules: "storage",
    concerns: ["postgres"],
    tests: [
      postgres("pgbouncer", "no settings, named statements or locks stay behind on the shared connections"),
      postgres("migrations", "one killed while it migrates leaves nothing, and the next does it"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B103",
    kind: "A claim takes more than its limit, by the plan of the day",
    rules: "G3",
    concerns: EVERY_STORE,
    tests: [
      proof(
        "corpus-postgres",
        "B103 with stale statistics and plans of any kind a fetch leases what it returns, and no more than its limit",
        ["postgres"],
      ),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B104",
    kind: "Several processes make the schema at once, and some fail",
    rules: "storage",
    concerns: ["postgres", "sqlite", "redis", "mongo"],
    tests: [
      postgres("migrations", "ten processes that open an empty database at once all find one schema"),
      sqlite("processes", "eight that open an empty database at once all find one schema (B104)"),
      sqlite("processes", "one killed while it migrates leaves a file that the next can open"),
      proof("corpus", "B104 eight that open an empty store at the same moment all find one, and work in it", EVERY_STORE),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B105",
    kind: "A write is guarded by a time, which loses precision on its way, and never matches",
    rules: "F1 F6",
    concerns: EVERY_STORE,
    tests: [
      proof(
        "corpus",
        "B105 by the store's own clock, finer than a millisecond or not, leases hold and dead letters are paged once each",
        EVERY_STORE,
      ),
    ],
    verdict: "holds",
    note: "Guards are tokens; pages go by place.",
  },
  {
    id: "B106",
    kind: "Times shift with the zone of a session",
    rules: "F6",
    concerns: ["postgres"],
    tests: [
      proof(
        "corpus-postgres",
        "B106 whatever the time zones of the server, the session and the process, times and durations are the same",
        ["postgres"],
      ),
    ],
    verdict: "holds",
    note: "The others keep times as milliseconds since the epoch, or as their driver's instants.",
  },
];
