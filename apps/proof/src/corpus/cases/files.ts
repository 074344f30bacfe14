import { type CorpusCase, EVERY_STORE } from "../corpus-case.ts";
import { lmdb, proof, sqlite } from "../test-reference.ts";

export const filesCases: readonly CorpusCase[] = [
  {
    id: "B118",
    kind: "A lock is refused at once in spite of a time to wait",
    rules: "storage",
    concerns: ["sqlite"],
    tests: [
      sqlite("processes", "four that append, fetch and settle lose nothing and deliver nothing twice (B118)"),
      sqlite("processes", "is waited for without blocking the event loop (B118, B119)"),
      sqlite("processes", "longer than busyTimeoutMs is unavailable, and nothing was written"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B119",
    kind: "Waiting for a lock stops the event loop, and with it the renewals",
    rules: "storage",
    concerns: ["sqlite"],
    tests: [sqlite("processes", "is waited for without blocking the event loop (B118, B119)")],
    verdict: "holds",
    note: "",
  },
  {
    id: "B120",
    kind: "The write-ahead log grows without end behind an old reader",
    rules: "storage",
    concerns: ["sqlite"],
    tests: [
      proof(
        "corpus-sqlite",
        "B120 readers that stopped half way, and others that look again and again, keep no part of the write-ahead log",
        ["sqlite"],
      ),
      sqlite("costs", "the log stays bounded while much is written (B120)"),
      sqlite("costs", "it goes on while another holds the write lock"),
    ],
    verdict: "holds",
    note: "No read is left open: each page of a scan is a statement of its own.",
  },
  {
    id: "B122",
    kind: "Threads or the end of the process in the middle of a write crash the native code",
    rules: "storage",
    concerns: ["sqlite", "lmdb"],
    tests: [
      proof(
        "corpus-processes",
        "B122 a thread that is ended again and again while it writes: nothing crashes, and nothing it was told of is missing",
        ["sqlite"],
      ),
      proof(
        "corpus-processes",
        "B122 a process that ends by %s with writes under way on … ends cleanly, and loses nothing it told of",
        ["sqlite", "lmdb"],
      ),
      lmdb("owner-lock", "a worker thread is refused, and makes nothing"),
      lmdb("kills", "nothing acknowledged is lost, nothing settled comes again, tokens rise"),
      sqlite("processes", "writers killed again and again lose nothing they were told was there, and leave no gap (L1)"),
    ],
    verdict: "open",
    note: "Open: when several threads of one process write to one file through the default driver of SQLite, and one of them is ended by force while it is refused the lock, the driver ends the process. Nothing that was acknowledged is lost. Let a thread close its store before it is ended, or open the store on the main thread.",
  },
  {
    id: "B123",
    kind: "A write that failed is told to nobody",
    rules: "L7 L8",
    concerns: EVERY_STORE,
    tests: [
      lmdb("refusals", "a full disk: nothing of the call is there, and it goes on once there is room"),
      lmdb("session", "one that throws among others is refused alone"),
      sqlite("refusals", "is unavailable, leaves nothing half written, and is over when there is room"),
    ],
    verdict: "holds",
    note: "",
  },
];
