/** The door "urls": what `Rheo.open` is given as text. Nothing is found there, and nothing may be made. */
import { Rheo } from "@rheo/core";
import fc from "fast-check";
import { type Door, doorOf } from "./door.ts";
import { judge } from "./judge.ts";

const SCHEMES = ["memory", "sqlite", "lmdb", "postgres", "postgresql", "redis", "rediss", "http", "", "file"] as const;
/** A port where nobody listens. */
const NOWHERE = "127.0.0.1:1";

const junk = fc.constantFrom(
  "",
  ":",
  "//",
  "///",
  "%",
  "%zz",
  "%00",
  "\u0000",
  "?",
  "#",
  "@",
  "[::1",
  "a b",
  "..",
  "/no/such/folder/x.db",
  "é",
  "\ud800",
  "user:p@ss:word@",
  "?synchronous=never",
  "?busyTimeoutMs=-1",
  "?schema=%22",
  "?prefix={}",
  "?unknown=1",
  "/0",
  "/999999999999",
  ":99999",
  "x".repeat(3_000),
);
/** Places that are there are not among them. */
const parts = fc.array(fc.oneof(junk, fc.constant(NOWHERE)), { minLength: 1, maxLength: 4 });
const url = fc
  .tuple(fc.constantFrom(...SCHEMES), fc.constantFrom(":", "://", ""), parts)
  .map(([scheme, colon, rest]) => `${scheme}${colon}${["/no/such/folder/", ...rest].slice(rest.length > 2 ? 1 : 0).join("")}`);

const WITH_PASSWORD = /^(postgres|postgresql|redis|rediss):\/\/user:/;

export const urls: Door = doorOf("urls", url, async (given, counts) => {
  const verdict = await judge(async () => {
    const rheo = await Rheo.open(given);
    await rheo.close();
  });
  counts.add(verdict);
  if (verdict.kind === "fault") return [`Rheo.open(${JSON.stringify(given.slice(0, 200))}): ${verdict.text}`];
  const isShown = verdict.kind === "refused" && WITH_PASSWORD.test(given) && verdict.message.includes("p@ss:word");
  return isShown ? [`the password is shown: ${verdict.message}`] : [];
});
