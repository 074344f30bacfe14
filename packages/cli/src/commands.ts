import type { CliCommand } from "./command.ts";
import { append } from "./commands/append.ts";
import { bench } from "./commands/bench.ts";
import { completion } from "./commands/completion.ts";
import { createGroup } from "./commands/create-group.ts";
import { createIndex } from "./commands/create-index.ts";
import { createStream } from "./commands/create-stream.ts";
import { dashboard } from "./commands/dashboard.ts";
import { deadLetters } from "./commands/dead-letters.ts";
import { deleteGroup } from "./commands/delete-group.ts";
import { deleteStream } from "./commands/delete-stream.ts";
import { demo } from "./commands/demo.ts";
import { doctor } from "./commands/doctor.ts";
import { dropIndex } from "./commands/drop-index.ts";
import { event } from "./commands/event.ts";
import { explain } from "./commands/explain.ts";
import { groups } from "./commands/groups.ts";
import { indexes } from "./commands/indexes.ts";
import { info } from "./commands/info.ts";
import { lag } from "./commands/lag.ts";
import { leases } from "./commands/leases.ts";
import { lineage } from "./commands/lineage.ts";
import { migrate } from "./commands/migrate.ts";
import { pause } from "./commands/pause.ts";
import { purgeDeadLetters } from "./commands/purge-dead-letters.ts";
import { query } from "./commands/query.ts";
import { redrive } from "./commands/redrive.ts";
import { replay } from "./commands/replay.ts";
import { reset } from "./commands/reset.ts";
import { resume } from "./commands/resume.ts";
import { start } from "./commands/start.ts";
import { streams } from "./commands/streams.ts";
import { tail } from "./commands/tail.ts";
import { top } from "./commands/top.ts";
import { trim } from "./commands/trim.ts";
import { updateGroup } from "./commands/update-group.ts";
import { walkthrough } from "./commands/walkthrough.ts";

/** By heading of `rheo --help`, in its order. */
export const commands: Readonly<Record<string, readonly CliCommand[]>> = {
  "Look:": [top, streams, groups, lag, info, explain, deadLetters, leases, query, tail, event, lineage, indexes],
  "Change:": [append, createStream, createGroup, updateGroup, pause, resume, replay, redrive, reset, trim, purgeDeadLetters],
  "Remove and prepare:": [deleteStream, deleteGroup, createIndex, dropIndex, migrate],
  "Run:": [start, doctor, dashboard, bench, demo, walkthrough, completion],
};
