import { type CorpusCase, EVERY_STORE } from "../corpus-case.ts";
import { core, model, mongo, postgres, proof, redis, sqlite } from "../test-reference.ts";

export const logCases: readonly CorpusCase[] = [
  {
    id: "B01",
    kind: "A position is given out before it is visible, and a reader passes it by",
    rules: "L1",
    concerns: EVERY_STORE,
    tests: [
      proof("corpus-postgres", "B01 B03 one that appended and waits keeps its place: nobody passes it, and all come in order", [
        "postgres",
      ]),
      mongo(
        "transactions",
        "is seen by nobody, and who appends meanwhile is told that nothing was written, or waits for its end",
      ),
      sqlite("transactions", "is seen by others when it commits, and not before"),
    ],
    verdict: "holds",
    note: "The later one waits for the earlier: a partition is written one commit after the other.",
  },
  {
    id: "B03",
    kind: "Several questions of one look are answered from different moments",
    rules: "L1",
    concerns: EVERY_STORE,
    tests: [
      proof("corpus-postgres", "B01 B03 one that appended and waits keeps its place: nobody passes it, and all come in order", [
        "postgres",
      ]),
      postgres(
        "chaos",
        "killed at random, with clocks hours apart, over a server that is killed too: every event is acked, none twice",
      ),
      sqlite("processes", "four that append, fetch and settle lose nothing and deliver nothing twice (B118)"),
      model("L1 G1 G2 G3 G6 G9 F1 F2 F3 F4 F5 T1 T2 T4 T5 T7 P1 P2 · … runs of random commands do what the model says"),
    ],
    verdict: "holds",
    note: "A fetch is one atomic step.",
  },
  {
    id: "B04",
    kind: "An append that was rolled back leaves a hole that readers wait for",
    rules: "L1",
    concerns: EVERY_STORE,
    tests: [
      proof("corpus-postgres", "B04 fifty that were rolled back, and a session that idles in a transaction, hold nothing up", [
        "postgres",
      ]),
      postgres(
        "costs",
        "a drain of 1,000,000 touches no more buffers per event at its end than at its beginning while an idle transaction pins the horizon",
      ),
      sqlite("transactions", "leaves no gap when it is rolled back (L1)"),
      mongo("transactions", "of writers that race, each gets its own sequences, without a gap"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B05",
    kind: "A reader of all partitions loses what a slow writer of one of them commits late",
    rules: "L1 P4",
    concerns: EVERY_STORE,
    tests: [
      proof(
        "corpus",
        "B05 a reader over all partitions that follows them misses nothing that came later with an earlier time",
        EVERY_STORE,
      ),
      proof("corpus-postgres", "B05 a reader over all partitions that passed one while another was held open comes back for it", [
        "postgres",
      ]),
      core("reading", "tail gives history, then what is appended, without a gap or repeat at the seam, and ends when aborted"),
    ],
    verdict: "holds",
    note: "A cursor is a position for each partition; there is no global one.",
  },
  {
    id: "B06",
    kind: "Positions are reserved outside of the write, so a writer that dies or is slow leaves a gap or comes in behind",
    rules: "L1",
    concerns: ["mongo"],
    tests: [
      mongo(
        "transactions",
        "is seen by nobody, and who appends meanwhile is told that nothing was written, or waits for its end",
      ),
      mongo("transactions", "holds up no other partition"),
      mongo("transactions", "of writers that race, each gets its own sequences, without a gap"),
      mongo("faults", "a server that was killed and restarted has what was acknowledged, and goes on"),
    ],
    verdict: "holds",
    note: "Sequence and event are one transaction. Against a double of the server, unless a real one is named.",
  },
  {
    id: "B07",
    kind: "Appends at the same time are given the same position",
    rules: "L1",
    concerns: EVERY_STORE,
    tests: [
      sqlite("processes", "four that append, fetch and settle lose nothing and deliver nothing twice (B118)"),
      mongo("transactions", "of writers that race, each gets its own sequences, without a gap"),
      redis("append", "of the same ids by several at the same time stores each once, and all are told of it"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B08",
    kind: "An append that was stored is told as failed, and stored again when repeated",
    rules: "F7 L4",
    concerns: EVERY_STORE,
    tests: [
      postgres("cut", "an append is outcome_unknown, and repeated under its id it is stored once"),
      redis("cut", "an append is outcome_unknown, and repeated under its id it is stored once"),
      redis("connection", "a write whose answer is lost is outcome_unknown, and is not sent again"),
      mongo("faults", "an append whose commit is never answered is outcome_unknown, and repeated under its id it is stored once"),
    ],
    verdict: "holds",
    note: "An event that was given no id has one before it is sent, so the same call is never stored twice by the library itself.",
  },
  {
    id: "B09",
    kind: "A repeated event is known on one path and stored again on another",
    rules: "L4 L6",
    concerns: EVERY_STORE,
    tests: [],
    verdict: "holds",
    note: "There is no window: an id is known for as long as its event is retained.",
  },
];
