import { type CorpusCase, EVERY_STORE } from "../corpus-case.ts";
import { core, pipeline, proof, redis, runtime } from "../test-reference.ts";

export const pollingCases: readonly CorpusCase[] = [
  {
    id: "B134",
    kind: "A long delay overflows its timer and fires at once",
    rules: "T3",
    concerns: [...EVERY_STORE, "runtime"],
    tests: [
      core("clock", "B134 · a delay above 2^31 ms does not fire at once"),
      runtime("restart", "B134 the wait is capped, after any number of failures"),
      core("retry-policy", "T3 · jitter spreads by its share and never passes maxMs, for any policy and attempt (B134, B135)"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B135",
    kind: "What failed together comes back together",
    rules: "T3",
    concerns: [...EVERY_STORE, "runtime"],
    tests: [
      runtime("restart", "B135 the wait is spread by the jitter"),
      runtime("breaker", "the wait is spread by a fifth to either side, and never above the longest"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B136",
    kind: "A store that is away is asked without a pause",
    rules: "runtime",
    concerns: ["runtime"],
    tests: [
      runtime("inline", "B136 B137 a store that is away is asked ever less often, and work goes on when it is back"),
      runtime("transition", "B136 neither wake-ups nor completions shorten a back-off"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B137",
    kind: "After some errors a member gives up, though its process lives",
    rules: "runtime",
    concerns: ["runtime"],
    tests: [
      runtime("inline", "B136 B137 a store that is away is asked ever less often, and work goes on when it is back"),
      runtime("lifecycle", "an instance that is closed under its consumers ends them visibly, without a hot loop"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B139",
    kind: "A wake-up between the look and the wait is lost",
    rules: "storage",
    concerns: [...EVERY_STORE, "runtime"],
    tests: [
      proof(
        "corpus",
        "B139 what is appended while a member looks, subscribes and waits is delivered, however the two interleave",
        EVERY_STORE,
      ),
      runtime("transition", "a wake-up during a fetch is answered by another fetch"),
      pipeline("consume", "is woken by an append that a fetch in flight has missed"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B140",
    kind: "Each partition or group costs a connection or a poller",
    rules: "storage",
    concerns: ["postgres", "redis", "runtime"],
    tests: [
      proof(
        "corpus-postgres",
        "B140 a thousand partitions and twenty groups at rest take no more connections, and the next event reaches each group",
        ["postgres", "runtime"],
      ),
      redis("wake", "it is one connection, whatever the number of groups, and it is none after closing"),
      redis("costs", "an idle group writes nothing, and asks once per fetch"),
    ],
    verdict: "holds",
    note: "",
  },
];
