import { type CorpusCase, EVERY_STORE } from "../corpus-case.ts";
import { postgres, redis } from "../test-reference.ts";

export const namesCases: readonly CorpusCase[] = [
  {
    id: "B90",
    kind: "A name of a schema or stream becomes part of a statement",
    rules: "L9",
    concerns: EVERY_STORE,
    tests: [
      postgres("migrations", "schema names are quoted, and those that PostgreSQL would cut off or keeps for itself are refused"),
      redis("options", "the prefix %j is refused"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B92",
    kind: "A limit is counted in characters and enforced in bytes",
    rules: "L8 L9",
    concerns: EVERY_STORE,
    tests: [],
    verdict: "holds",
    note: "",
  },
  {
    id: "B93",
    kind: "A separator inside a name makes it another's",
    rules: "L9",
    concerns: EVERY_STORE,
    tests: [
      redis("keys", "of names that look like parts of others do not meet"),
      redis("keys", "of what was removed are gone: a group's, and then everything but the catalog's own"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B94",
    kind: "Names with braces change the hash slot on a Cluster, and scripts cross slots",
    rules: "L9",
    concerns: ["redis"],
    tests: [
      redis("keys", "of one partition are in one slot, with those of its groups, and partitions are spread over slots"),
      redis("cluster-faults", "all keys of a partition are in one slot, and the partitions of a stream on several masters"),
      redis("cluster-faults", "slots that move, key by key, in the middle of work: nothing is lost, done twice or half done"),
    ],
    verdict: "holds",
    note: "No name has braces; the whole contract runs on a Cluster as well.",
  },
  {
    id: "B95",
    kind: "An empty key is taken for none by one and for a value by another",
    rules: "L3",
    concerns: EVERY_STORE,
    tests: [],
    verdict: "holds",
    note: "",
  },
  {
    id: "B96",
    kind: "A name is read as a pattern, and others are counted with it",
    rules: "L9",
    concerns: EVERY_STORE,
    tests: [],
    verdict: "holds",
    note: "",
  },
];
