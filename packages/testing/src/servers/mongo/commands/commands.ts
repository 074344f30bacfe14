/** Every command that the double knows, and where it may be run. */
import { buildInfo, getParameter, hello, nothing, replSetGetStatus, serverStatus, setParameter, startSession } from "./admin.ts";
import {
  create,
  createIndexes,
  drop,
  dropDatabase,
  dropIndexes,
  listCollections,
  listDatabases,
  listIndexes,
} from "./catalog.ts";
import { rheoDouble } from "./control.ts";
import { getMore, killCursors } from "./cursors.ts";
import { findAndModify } from "./find-and-modify.ts";
import { aggregate, count, distinct, find } from "./reads.ts";
import type { Command } from "./request.ts";
import { abortTransaction, commitTransaction, endSessions } from "./transactions.ts";
import { insert, remove, update } from "./writes.ts";

export interface CommandEntry {
  readonly run: Command;
  /** Refused unless the server is primary. */
  readonly writes: boolean;
  /** Refused then, unless the client says that it reads of others, too. */
  readonly reads: boolean;
  /** Whether it may be run within a transaction. */
  readonly inTransaction: boolean;
}

const read = (run: Command): CommandEntry => ({ run, writes: false, reads: true, inTransaction: true });
const readOutside = (run: Command): CommandEntry => ({ run, writes: false, reads: true, inTransaction: false });
const write = (run: Command): CommandEntry => ({ run, writes: true, reads: false, inTransaction: true });
const define = (run: Command): CommandEntry => ({ run, writes: true, reads: false, inTransaction: false });
const outside = (run: Command): CommandEntry => ({ run, writes: false, reads: false, inTransaction: false });
const anywhere = (run: Command): CommandEntry => ({ run, writes: false, reads: false, inTransaction: true });

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  hello: outside(hello),
  isMaster: outside(hello),
  ismaster: outside(hello),
  ping: outside(nothing),
  buildInfo: outside(buildInfo),
  buildinfo: outside(buildInfo),
  startSession: outside(startSession),
  endSessions: outside(endSessions),
  replSetGetStatus: outside(replSetGetStatus),
  serverStatus: outside(serverStatus),
  getParameter: outside(getParameter),
  setParameter: outside(setParameter),
  connectionStatus: outside(nothing),
  listDatabases: readOutside(listDatabases),
  dropDatabase: define(dropDatabase),
  listCollections: readOutside(listCollections),
  create: define(create),
  drop: define(drop),
  createIndexes: define(createIndexes),
  dropIndexes: define(dropIndexes),
  listIndexes: readOutside(listIndexes),
  insert: write(insert),
  update: write(update),
  delete: write(remove),
  findAndModify: write(findAndModify),
  findandmodify: write(findAndModify),
  find: read(find),
  getMore: anywhere(getMore),
  killCursors: anywhere(killCursors),
  aggregate: read(aggregate),
  count: readOutside(count),
  distinct: read(distinct),
  commitTransaction: write(commitTransaction),
  abortTransaction: write(abortTransaction),
  rheoDouble: outside(rheoDouble),
};
