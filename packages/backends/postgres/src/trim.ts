import type { TrimAnswer, TrimRequest } from "@rheo/core";
import { type Answer, checkFound } from "./answers.ts";
import { type Database, jsonOf, type Statement } from "./database.ts";

const TRIM: Statement = { text: "SELECT @.trim($1, $2::jsonb, $3::integer[], $4::boolean)", writes: true };

/** @throws stream_not_found */
export const trim = async (
  database: Database,
  { stream, cut, partitions, force }: TrimRequest,
): Promise<{ trimmed: TrimAnswer; answer: Answer }> => {
  const answer = jsonOf(await database.run(TRIM, [stream, toCut(cut), partitions, force]));
  checkFound(answer, stream, "");
  return { trimmed: { removed: Number(answer.removed), heldBack: Number(answer.heldBack) }, answer };
};

const toCut = (cut: TrimRequest["cut"]): string => {
  switch (cut.kind) {
    case "sequence":
      return JSON.stringify({ before: cut.before });
    case "time":
      return JSON.stringify({ beforeMs: cut.beforeMs });
    case "keep":
      return JSON.stringify({ last: cut.last });
    default:
      return cut satisfies never;
  }
};
