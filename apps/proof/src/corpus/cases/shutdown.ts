import { type CorpusCase, EVERY_STORE } from "../corpus-case.ts";
import { cli, core, lmdb, redis, runtime } from "../test-reference.ts";

export const shutdownCases: readonly CorpusCase[] = [
  {
    id: "B76",
    kind: "Connections close before the work on them has ended",
    rules: "E1",
    concerns: [...EVERY_STORE, "runtime"],
    tests: [
      runtime("lifecycle", "B76 a handler that finishes during the stop may still append, and its ack is kept"),
      redis("connection", "the end waits for what is under way, and then calls are closed"),
      lmdb("session", "what was asked for before it was closed is done"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B77",
    kind: "A process never ends after its stop",
    rules: "runtime",
    concerns: ["runtime", "redis"],
    tests: [
      runtime("stop", "… ends by itself within a second"),
      runtime("stop", "with a PostgreSQL that was killed ends by itself"),
      runtime("threads", "B77 a process ends by itself after the stop"),
      runtime("process-supervise", "B77 afterwards nothing keeps a program alive"),
      core("appender", "B77 · close waits for the append that is under way, then refuses others"),
      redis("wake", "a process that closes its backend ends by itself, and so does one whose server has gone"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B78",
    kind: "A signal reaches children at the same time as their parent, and kills work that it waits for",
    rules: "runtime",
    concerns: ["runtime", "cli"],
    tests: [
      cli("start", "B78 a signal to the whole group, as from Ctrl-C, is handled once"),
      cli("start", "SIGTERM to the whole group drains too, and starts nothing in the place of what ends"),
      cli("start", "a signal that comes twice at once, as through npm, is one"),
      cli("start", "a second signal forces: exit 3, what ran is given back uncharged"),
      cli("start", "SIGKILL of the parent: its children drain and end by themselves"),
      runtime("process-transition", "B78 a signal to the whole group drains each process once and starts none"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B79",
    kind: "A forced stop leaves what runs stuck until its lease ends",
    rules: "F2 T1",
    concerns: ["runtime"],
    tests: [
      runtime("lifecycle", "B53 B79 past its time it aborts, and gives back uncharged"),
      runtime("lifecycle", "B79 a handler that ignores its signal is given up; its late ack is refused"),
      cli("start", "a second signal forces: what runs is given back at once, uncharged, and it exits with 3"),
    ],
    verdict: "holds",
    note: "",
  },
  {
    id: "B80",
    kind: "A stop during the start, or a start that fails half way, leaves things behind",
    rules: "runtime",
    concerns: ["runtime"],
    tests: [
      runtime("lifecycle", "B80 right after the start, 100 times, leaves nothing held"),
      runtime("lifecycle", "B80 with the store away waits for it, and works when it is back"),
      runtime("supervisor", "B80 a stop while it starts ends what was started, and starts no more"),
      runtime("transition", "B80 a drain before the group is ready ends it"),
      cli("start", "SIGTERM while the store is waited for ends it: exit 0"),
    ],
    verdict: "holds",
    note: "",
  },
];
