/** What the page may ask for: each command is checked here, whole, before anything is done. */
import { parseBoolean, parseChoice, parseName, parseNumber, parseOptions } from "@rheo/core/internal";
import type { Deed } from "./members/fleet.ts";
import { MOST_AT_ONCE, MOST_PER_SECOND } from "./publisher.ts";
import type { Mode, Poison } from "./views.ts";

export type Command =
  | { readonly type: "publish"; readonly count: number; readonly poison: Poison }
  /** 0 stops it. */
  | { readonly type: "publisher"; readonly perSecond: number }
  /** All dead letters. */
  | { readonly type: "redrive" }
  | { readonly type: "start" }
  | { readonly type: "member"; readonly name: string; readonly deed: Deed }
  | { readonly type: "mode"; readonly name: string; readonly mode: Mode }
  | { readonly type: "restarts"; readonly on: boolean }
  | { readonly type: "hand"; readonly deed: "take" | "ack" }
  | { readonly type: "tour"; readonly deed: "next" | "restart" };

export type CommandType = Command["type"];

const TYPES = ["publish", "publisher", "redrive", "start", "member", "mode", "restarts", "hand", "tour"] as const;
const DEEDS = ["stop", "kill", "freeze", "thaw", "kill_thread"] as const;
/** Longer than a lease, so that renewal is seen. */
const SLOWEST_MS = 30_000;

/** @throws invalid_option, invalid_name */
export const parseCommand = (given: unknown): Command => {
  const type = parseWord("type", Object(given).type, TYPES);
  const options = (...names: readonly string[]): Readonly<Record<string, unknown>> =>
    parseOptions(type, given, ["type", ...names]);
  switch (type) {
    case "publish": {
      const { count, poison } = options("count", "poison");
      return {
        type,
        count: parseNumber("count", count, { min: 1, max: MOST_AT_ONCE }),
        poison: parseWord("poison", poison, ["none", "thread", "process"]),
      };
    }
    case "publisher":
      return { type, perSecond: parseNumber("perSecond", options("perSecond").perSecond, { min: 0, max: MOST_PER_SECOND }) };
    case "redrive":
    case "start":
      options();
      return { type };
    case "member": {
      const { name, deed } = options("name", "deed");
      return { type, name: parseName("consumer", name), deed: parseWord("deed", deed, DEEDS) };
    }
    case "mode": {
      const { name, kind, ms } = options("name", "kind", "ms");
      return { type, name: parseName("consumer", name), mode: parseMode(kind, ms) };
    }
    case "restarts":
      return { type, on: parseBoolean("on", options("on").on, false) };
    case "hand":
      return { type, deed: parseWord("deed", options("deed").deed, ["take", "ack"]) };
    case "tour":
      return { type, deed: parseWord("deed", options("deed").deed, ["next", "restart"]) };
    default:
      return type satisfies never;
  }
};

const parseMode = (given: unknown, ms: unknown): Mode => {
  const kind = parseWord("kind", given, ["normal", "slow", "failing"]);
  return kind === "slow" ? { kind, ms: parseNumber("ms", ms, { min: 1, max: SLOWEST_MS }) } : { kind };
};

/** One of the words, which must be given. */
const parseWord = <Word extends string>(what: string, value: unknown, words: readonly [Word, ...Word[]]): Word =>
  parseChoice(what, value ?? null, words, words[0]);
