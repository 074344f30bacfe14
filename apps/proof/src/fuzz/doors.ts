import { commandLines } from "./command-line.ts";
import { cursors } from "./cursors.ts";
import { postgresDoor, redisDoor, sqliteDoor } from "./damage/doors.ts";
import { files } from "./damage/files.ts";
import { definitions } from "./definitions.ts";
import type { Door } from "./door.ts";
import { methods } from "./methods.ts";
import { outcomes } from "./outcomes.ts";
import { filters, names, payloads } from "./payloads.ts";
import { threads } from "./threads.ts";
import { urls } from "./urls.ts";

/** All of them, and how many cases one seed tries. */
export const DOORS: readonly { readonly door: Door; readonly cases: number }[] = [
  { door: names, cases: 20 },
  { door: payloads, cases: 20 },
  { door: filters, cases: 20 },
  { door: cursors, cases: 20 },
  { door: methods, cases: 40 },
  { door: definitions, cases: 100 },
  { door: outcomes, cases: 20 },
  { door: urls, cases: 20 },
  { door: commandLines, cases: 20 },
  { door: threads, cases: 10 },
  { door: sqliteDoor, cases: 5 },
  { door: files, cases: 5 },
  ...(redisDoor === null ? [] : [{ door: redisDoor, cases: 5 }]),
  { door: postgresDoor, cases: 5 },
];
