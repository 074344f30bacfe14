import { type CorpusCase, EVERY_STORE } from "../corpus-case.ts";
import { cli, lmdb, postgres, proof, runtime } from "../test-reference.ts";

export const supervisionCases: readonly CorpusCase[] = [
  {
    id: "B39",
    kind: "A page of deliveries that cannot be claimed hides the expired ones behind it",
    rules: "G4",
    concerns: EVERY_STORE,
    tests: [],
    verdict: "holds",
    note: "",
  },
  {
    id: "B40",
    kind: "A sweep by somebody who does not know the work throws it away",
    rules: "G1",
    concerns: ["runtime"],
    tests: [
      proof(
        "corpus-runtime",
        "B40 those of other groups touch nothing of a group whose only member is gone, however long they poll",
        ["memory", "runtime"],
      ),
    ],
    verdict: "holds",
    note: "Nobody sweeps: a delivery is recovered by a fetch of its own group, and dies by its attempts alone.",
  },
  {
    id: "B41",
    kind: "A delivery ends both finished and failed",
    rules: "F2 T5",
    concerns: EVERY_STORE,
    tests: [
      proof(
        "corpus",
        "B37 B41 an ack or a reject that races with the takeover: one of the two has the delivery, and its content is whole",
        EVERY_STORE,
      ),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B43",
    kind: "A member whose renewals fail lives on, and nobody is told",
    rules: "F3",
    concerns: ["runtime"],
    tests: [
      runtime(
        "inline",
        "B43 when only renewals fail, handlers are aborted before the lease ends, and the group starts afresh and recovers",
      ),
      runtime("transition", "B43 nothing new is taken while renewals fail"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B44",
    kind: "Work is recovered by its age alone, so what is long runs again and again",
    rules: "T5 F5",
    concerns: ["runtime", "memory"],
    tests: [runtime("inline", "B21 leases are renewed while a handler waits, however long")],
    verdict: "holds",
    note: "",
  },
  {
    id: "B45",
    kind: "A child that fails at once is restarted for ever, or takes everybody down",
    rules: "runtime",
    concerns: ["runtime"],
    tests: [
      runtime("lifecycle", "B45 a group whose stream is not there is tried again, then given up visibly"),
      runtime("lifecycle", "B45 500 failures of handlers in a moment are no failure of the group"),
      runtime("restart", "B45 one crash a day for 20 days is always restarted, at the first wait"),
      runtime("supervisor", "B45 a child that cannot start is tried again with growing waits, then given up"),
      runtime("process-supervise", "B45 whose consumer is given up says which, and is replaced until it is given up itself"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B46",
    kind: "A child that was given up is taken for one that ended well",
    rules: "runtime",
    concerns: ["runtime"],
    tests: [
      runtime("supervisor", "B46 gives a child up after too many failures, tells its owner, and leaves its siblings alone"),
      runtime(
        "threads",
        "B45 B46 a setup that always fails is tried again with back-off, then given up visibly; the sibling goes on",
      ),
      cli("start", "a consumer that cannot go on ends it with 1, and says why"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B47",
    kind: "One record that cannot be handled makes the recovery of all others fail",
    rules: "G4 T6",
    concerns: ["runtime", "lmdb", "redis"],
    tests: [
      proof("corpus-runtime", "B47 one of a hundred whose leases ran out: the others are recovered, and it is told once", [
        "memory",
        "runtime",
      ]),
      proof(
        "corpus-redis",
        "B111 B113 entries that somebody deleted by hand, before and after they were given out: the others come whole, these die by themselves, and the lag is exact",
        ["redis"],
      ),
      lmdb("refusals", "a damaged record costs only those who ask for it"),
    ],
    verdict: "holds",
    note: "No store decodes an event to recover it.",
  },
  {
    id: "B48",
    kind: "One periodic question that nobody guards ends the process when the store is away",
    rules: "runtime",
    concerns: ["runtime", "postgres"],
    tests: [
      runtime("lifecycle", "B48 is bounded while the store is away"),
      runtime("lifecycle", "B48 is bounded while the store hangs"),
      runtime("inline", "B136 B137 a store that is away is asked ever less often, and work goes on when it is back"),
      postgres("faults", "a deadlock is tried again where nothing was applied"),
      postgres("faults", "a server killed with SIGKILL and started again loses nothing that was acknowledged"),
    ],
    verdict: "holds",
    note: "",
  },
];
