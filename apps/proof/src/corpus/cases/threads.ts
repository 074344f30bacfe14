import type { CorpusCase } from "../corpus-case.ts";
import { proof, runtime } from "../test-reference.ts";

export const threadsCases: readonly CorpusCase[] = [
  {
    id: "B128",
    kind: "A thread that exits leaves its work unsettled and the pool smaller",
    rules: "T4 T5",
    concerns: ["runtime"],
    tests: [
      runtime(
        "threads",
        "B128 B132 … costs an attempt each time, then is a dead letter that says so; its neighbours are not charged",
      ),
      runtime("threads", "what ran beside a crasher on its thread is not charged: each goes out again alone"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B130",
    kind: "A signal that a queue is empty is missed, and its producer waits for ever",
    rules: "runtime",
    concerns: ["runtime"],
    tests: [
      proof("corpus-runtime", "B130 twenty thousand tiny events in bursts never stall a group that may hold a hundred", [
        "memory",
        "runtime",
      ]),
      runtime(
        "transition",
        "whatever the order of events: one exchange at a time, demand kept, back-off kept, every delivery ends once",
      ),
    ],
    verdict: "holds",
    note: "What is free is counted, and never told by an event alone.",
  },
  {
    id: "B131",
    kind: "Arguments or results cannot be cloned for a thread",
    rules: "T6",
    concerns: ["runtime"],
    tests: [runtime("threads", "B56 B131 whatever is thrown or returned: a bounded reason, or an ack, and the pool lives")],
    verdict: "holds",
    note: "Payloads travel as text, and outcomes as bounded text.",
  },
  {
    id: "B132",
    kind: "A thread runs out of memory",
    rules: "T4 T5",
    concerns: ["runtime"],
    tests: [
      runtime(
        "threads",
        "B128 B132 … costs an attempt each time, then is a dead letter that says so; its neighbours are not charged",
      ),
      runtime("process-supervise", "B50 T5 an event that kills its process ends in one dead letter, and the rest is acked"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B133",
    kind: "Pools are made and never ended",
    rules: "runtime",
    concerns: ["runtime"],
    tests: [
      runtime("lifecycle", "B133 50 cycles with threads return to the number of threads before"),
      runtime("lifecycle", "B133 is bounded while a thread spins"),
    ],
    verdict: "holds",
    note: "",
  },
];
