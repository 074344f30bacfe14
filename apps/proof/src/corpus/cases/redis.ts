import type { CorpusCase } from "../corpus-case.ts";
import { proof, redis, runtime } from "../test-reference.ts";

export const redisCases: readonly CorpusCase[] = [
  {
    id: "B107",
    kind: "A read that blocks never returns after a break",
    rules: "F7",
    concerns: ["redis"],
    tests: [
      proof(
        "corpus-redis",
        "B107 B110 a server that stands still, and goes on: consumers get what comes after, without a restart",
        ["redis"],
      ),
      redis("wake", "a server that was away is listened to again"),
      redis("connection", "a server that hangs is not waited for for ever, and what comes after is answered with its own"),
    ],
    verdict: "holds",
    note: "Nothing blocks: members poll, and one connection of its own listens.",
  },
  {
    id: "B108",
    kind: "A read that blocks holds up all other commands of its connection",
    rules: "storage",
    concerns: ["redis"],
    tests: [
      proof(
        "corpus-redis",
        "B108 a client of the user's answers appends, acks and looks at once while a fetch waits, and is never blocked",
        ["redis"],
      ),
      redis("wake", "a client of the user's is not turned into a subscriber"),
      redis("connection", "is left connected, and without a listener of ours"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B109",
    kind: "Commands are sent again after a reconnect, to another database, or answers go to the wrong call",
    rules: "F7",
    concerns: ["redis"],
    tests: [
      proof(
        "corpus-redis",
        "B109 after a connection was cut everything goes on in the database that was chosen, and nothing twice",
        ["redis"],
      ),
      redis("connection", "of many writes under way, those that were answered are fine, and no other was sent twice"),
      redis("connection", "many at once are answered each with its own"),
      redis("cut", "cut at each of its commands (the %s is lost) and repeated, does what it does"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B110",
    kind: "Calls that never end keep a stop from ending",
    rules: "F7",
    concerns: ["redis"],
    tests: [
      proof(
        "corpus-redis",
        "B107 B110 a server that stands still, and goes on: consumers get what comes after, without a restart",
        ["redis"],
      ),
      proof(
        "corpus-redis",
        "B110 a client that tries for ever, and a server that is gone: calls end by themselves, so does a stop, and nothing is sent late",
        ["redis"],
      ),
      redis("connection", "what could not be sent is unavailable within the limit, and is not sent later"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B111",
    kind: "Entries deleted behind the back of the store come back as nothing, and shift those beside them",
    rules: "L2 P1",
    concerns: ["redis"],
    tests: [
      proof(
        "corpus-redis",
        "B111 B113 entries that somebody deleted by hand, before and after they were given out: the others come whole, these die by themselves, and the lag is exact",
        ["redis"],
      ),
    ],
    verdict: "holds",
    note: "An entry that is gone cannot be decoded, and so is a dead letter (B58). Redis 7 or Valkey.",
  },
  {
    id: "B112",
    kind: "Trimming does not ack, or takes what a slow reader needs, and memory grows",
    rules: "L10",
    concerns: ["redis"],
    tests: [
      redis("append", "has no group of Redis, and so no pending list"),
      redis("costs", "nothing is left of acked events but the events: no key, and no more memory per group"),
      redis("trim", "removes entries and their ids, page by page, and nothing else"),
      runtime("retention", "never takes what a group has not settled, and says how much it held back (L10)"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B113",
    kind: "The server's own lag is wrong once entries were deleted",
    rules: "P1",
    concerns: ["redis"],
    tests: [
      proof(
        "corpus-redis",
        "B111 B113 entries that somebody deleted by hand, before and after they were given out: the others come whole, these die by themselves, and the lag is exact",
        ["redis"],
      ),
    ],
    verdict: "holds",
    note: "Lag is the high watermark less the frontier.",
  },
  {
    id: "B114",
    kind: "A failover forgets what was confirmed",
    rules: "F1",
    concerns: ["redis"],
    tests: [
      redis(
        "failover",
        "with everything (FAILOVER), and a name that comes to mean the new master, loses nothing in the middle of work",
      ),
      redis("failover", "by Sentinels, of a master that was killed, loses nothing that a replica has confirmed"),
      redis("connection", "a write that they have is fine; one that they do not get in time is outcome_unknown, and there"),
      redis("failover", "with the tokens put up, a lease from the lost tail is stale"),
      redis("faults", "comes back at the end of some call, wherever it was cut, and goes on from there"),
    ],
    verdict: "holds",
    note: "The README says what asynchronous replication may lose, and how tokens are put above those that were lost; waitReplicas narrows the loss. Sequences have no gaps (L1), so those of lost events are given again.",
  },
  {
    id: "B115",
    kind: "After a failover the client stays with the demoted server",
    rules: "F7",
    concerns: ["redis"],
    tests: [
      proof(
        "corpus-redis",
        "B115 a server that loads, forgets its scripts, is demoted and promoted again: work goes on by itself",
        ["redis"],
      ),
      redis(
        "connection",
        "a server that became a replica is unavailable, and is connected to anew, for its name may mean another",
      ),
      redis("faults", "scripts that the server has forgotten are brought again, in the middle of work"),
      redis(
        "faults",
        "a master that was made a replica is unavailable for writes, reads go on, and so does work once it is a master",
      ),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B117",
    kind: "The server drops keys when its memory is full, or refuses writes",
    rules: "storage",
    concerns: ["redis"],
    tests: [
      redis("startup", "with the policy %s is refused, unless that is wished"),
      redis("startup", "with the policy %s is fine: Rheo's keys have no time to live"),
      redis("startup", "without an append-only file is warned of, once; CONFIG is not needed for that"),
      redis("faults", "a server that has no memory left refuses appends as unavailable, says so, and deliveries go on"),
    ],
    verdict: "holds",
    note: "",
  },
];
