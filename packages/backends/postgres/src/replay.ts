/** Replay, reset and redrive: the values of their functions. */
import type { RedriveRequest, ReplayRequest, ResolvedStart } from "@rheo/core";
import { programOf } from "@rheo/core/internal";
import { type Answer, checkFound, nothingToReplay } from "./answers.ts";
import { type Database, jsonOf, type Statement } from "./database.ts";

const REPLAY: Statement = { text: "SELECT @.replay($1, $2, $3::jsonb, $4::integer[], $5::boolean)", writes: true };
const RESET: Statement = { text: "SELECT @.reset($1, $2, $3::jsonb)", writes: true };
const REDRIVE: Statement = { text: "SELECT @.redrive($1, $2, $3::jsonb, $4::boolean)", writes: true };

/** How many deliveries are open again. */
export interface Reopened {
  readonly count: number;
  readonly answer: Answer;
}

/** @throws stream_not_found, group_not_found, nothing_to_replay */
export const replay = async (database: Database, request: ReplayRequest): Promise<Reopened> => {
  const { stream, group, scope, partitions, dryRun } = request;
  const answer = jsonOf(await database.run(REPLAY, [stream, group, toScope(scope), partitions, dryRun]));
  checkFound(answer, stream, group);
  if (answer.nothing === true && scope.kind === "after") throw nothingToReplay(stream, group, scope.after);
  return { count: Number(answer.count), answer };
};

const toScope = (scope: ReplayRequest["scope"]): string => {
  switch (scope.kind) {
    case "after":
      return JSON.stringify({ after: scope.after });
    case "time":
      return JSON.stringify({ timeMs: scope.timeMs });
    case "query": {
      const { filter, fromMs, toMs, partitions, after: afters, until: untils } = scope.query;
      return JSON.stringify({ program: filter === null ? null : programOf(filter), fromMs, toMs, partitions, afters, untils });
    }
    default:
      return scope satisfies never;
  }
};

/** @throws stream_not_found, group_not_found */
export const reset = async (database: Database, stream: string, group: string, start: ResolvedStart): Promise<Reopened> => {
  const answer = jsonOf(await database.run(RESET, [stream, group, JSON.stringify(start)]));
  checkFound(answer, stream, group);
  return { count: Number(answer.count), answer };
};

/** @throws stream_not_found, group_not_found */
export const redrive = async (database: Database, { stream, group, select, purge }: RedriveRequest): Promise<Reopened> => {
  const answer = jsonOf(await database.run(REDRIVE, [stream, group, toSelection(select), purge]));
  checkFound(answer, stream, group);
  return { count: Number(answer.count), answer };
};

const toSelection = (select: RedriveRequest["select"]): string => {
  switch (select.kind) {
    case "ids":
      return JSON.stringify({ ids: select.ids.filter((id) => !id.includes("\u0000")) });
    case "where":
      return JSON.stringify({ program: programOf(select.where) });
    case "all":
      return "{}";
    default:
      return select satisfies never;
  }
};
