import { type CorpusCase, EVERY_STORE } from "../corpus-case.ts";
import { mongo, runtime } from "../test-reference.ts";

export const mongoCases: readonly CorpusCase[] = [
  {
    id: "B125",
    kind: "First writes of the same thing at once collide",
    rules: "E1",
    concerns: EVERY_STORE,
    tests: [],
    verdict: "holds",
    note: "",
  },
  {
    id: "B126",
    kind: "A server without transactions fails with a riddle, and a step-down loses or doubles writes",
    rules: "storage",
    concerns: ["mongo"],
    tests: [
      mongo("faults", "a primary that steps down and comes back is waited for"),
      mongo("faults", "losing %s once is not noticed: an append is stored once, and a settle works once"),
      mongo("faults", "an append whose commit is never answered is outcome_unknown, and repeated under its id it is stored once"),
      mongo("faults", "a settle ($kind) whose commit is never answered is outcome_unknown, and repeated it is settled"),
    ],
    verdict: "open",
    note: "Open: tried against a double of one server, which has no elections and no rollback of what a majority had not; a replica set of three is still to be tried.",
  },
  {
    id: "B127",
    kind: "A member claims more than it runs, and others starve",
    rules: "G8",
    concerns: ["runtime", "memory"],
    tests: [
      runtime("inline", "B127 hold no more leases than maxDemand"),
      runtime(
        "fairness",
        "of different speed each work all the time, and end together: the slow one holds no more than it can do in two seconds",
      ),
    ],
    verdict: "holds",
    note: "",
  },
];
