import type { TrimRequest, TrimStep } from "@rheo/core";
import { type Answer, checkFound } from "./answers.ts";
import { type Database, jsonOf, type Statement } from "./database.ts";

const TRIM: Statement = { text: "SELECT @.trim($1, $2::jsonb, $3::integer[], $4::boolean, $5::boolean)", writes: true };

/** @throws stream_not_found */
export const trim = async (
  database: Database,
  { stream, cut, partitions, force, dryRun }: TrimRequest,
): Promise<{ trimmed: TrimStep; answer: Answer }> => {
  const answer = jsonOf(await database.run(TRIM, [stream, toCut(cut), partitions, force, dryRun]));
  checkFound(answer, stream, "");
  const { removed, heldBack, more } = answer;
  return { trimmed: { removed: Number(removed), heldBack: Number(heldBack), more: more === true }, answer };
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
