import { BSONRegExp } from "bson";
import { CommandError, refuse } from "../errors.ts";

/** The server's PCRE and the language's own expressions agree on what tests use; the flag `x` is not known. */
export const toRegExp = (pattern: unknown, options: unknown): RegExp => {
  const source = pattern instanceof BSONRegExp ? pattern.pattern : pattern;
  const flags = typeof options === "string" ? options : pattern instanceof BSONRegExp ? pattern.options : "";
  if (typeof source !== "string") throw new CommandError(2, "$regex has to be a string");
  if (/[^imsu]/.test(flags)) throw refuse(`the flags "${flags}" of a regex`);
  return new RegExp(source, flags.replaceAll("u", ""));
};
