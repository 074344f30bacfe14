/** All cases by theme. The faults are public ones of systems of this kind, and those of the original. */
import { filesCases } from "./cases/files.ts";
import { frontierCases } from "./cases/frontier.ts";
import { handlersCases } from "./cases/handlers.ts";
import { leasesCases } from "./cases/leases.ts";
import { logCases } from "./cases/log.ts";
import { lookingCases } from "./cases/looking.ts";
import { mongoCases } from "./cases/mongo.ts";
import { namesCases } from "./cases/names.ts";
import { originalCases } from "./cases/original.ts";
import { payloadsCases } from "./cases/payloads.ts";
import { pollingCases } from "./cases/polling.ts";
import { postgresCases } from "./cases/postgres.ts";
import { redisCases } from "./cases/redis.ts";
import { reopeningCases } from "./cases/reopening.ts";
import { shutdownCases } from "./cases/shutdown.ts";
import { supervisionCases } from "./cases/supervision.ts";
import { threadsCases } from "./cases/threads.ts";
import type { CorpusCase } from "./corpus-case.ts";

export interface CorpusTheme {
  readonly title: string;
  readonly cases: readonly CorpusCase[];
}

/** Every id that must have a verdict. Ids run with gaps. */
export const CORPUS_IDS: readonly string[] = (
  "B01 B03 B04 B05 B06 B07 B08 B09 B10 B11 B13 B14 B15 B16 B17 B18 B19 B20 B21 B22 B23 B24 B25 B27 B28 B30 B31 " +
  "B32 B33 B34 B35 B36 B37 B39 B40 B41 B43 B44 B45 B46 B47 B48 B49 B50 B52 B53 B55 B56 B57 B58 B59 B60 B61 B62 " +
  "B63 B64 B65 B67 B68 B69 B70 B72 B73 B74 B76 B77 B78 B79 B80 B82 B83 B84 B85 B86 B87 B88 B89 B90 B92 B93 B94 " +
  "B95 B96 B97 B99 B100 B101 B102 B103 B104 B105 B106 B107 B108 B109 B110 B111 B112 B113 B114 B115 B117 B118 B119 " +
  "B120 B122 B123 B125 B126 B127 B128 B130 B131 B132 B133 B134 B135 B136 B137 B139 B140 B142 B143 B144 B145 B146 " +
  " " +
  "O01 O02 O03 O04 O05 O06 O07 O08 O09 O10 O11 O12 O13 O14 O15 O16 O17 O18 O19 O20 O21 O22 O23 O24 O25 O26 O27 " +
  "O28 O29 O30 "
)
  .trim()
  .split(/ +/);

export const corpusThemes: readonly CorpusTheme[] = [
  { title: "The order of the log", cases: logCases },
  { title: "The frontier, and acks out of order", cases: frontierCases },
  { title: "Leases, renewal, fencing and clocks", cases: leasesCases },
  { title: "Sweeps, recovery and supervision", cases: supervisionCases },
  { title: "Handlers, poison and attempts", cases: handlersCases },
  { title: "Dead letters, redrive, replay, reset and deletion", cases: reopeningCases },
  { title: "Shutdown and signals", cases: shutdownCases },
  { title: "Payloads and encoding", cases: payloadsCases },
  { title: "Names, keys, limits and injection", cases: namesCases },
  { title: "PostgreSQL", cases: postgresCases },
  { title: "Redis", cases: redisCases },
  { title: "SQLite and LMDB", cases: filesCases },
  { title: "MongoDB", cases: mongoCases },
  { title: "Worker threads", cases: threadsCases },
  { title: "Polling, back-off and timers", cases: pollingCases },
  { title: "Lag, dashboard and command line", cases: lookingCases },
  { title: "Faults of the original", cases: originalCases },
];

export const corpusCases: readonly CorpusCase[] = corpusThemes.flatMap(({ cases }) => cases);
