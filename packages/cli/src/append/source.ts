/** Where events to be appended come from, and how a line of it is read. */
import { open } from "node:fs/promises";
import { addAbortSignal, Readable } from "node:stream";
import { type EventInput, RheoError } from "@rheo/core";
import { CommandFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { type EventFlags, eventOfLine, parseJson, withFlags } from "./parse-event.ts";

/** What a line says; `where` names it in a failure. */
export type Parse = (text: string, where: string) => EventInput;

export interface Source {
  readonly input: AsyncIterable<string | Uint8Array>;
  /** Such as "stdin". */
  readonly name: string;
}

/** A file, or stdin if something is piped into it. Ends early when the signal aborts. @throws input, invalid_option */
export const sourceOf = async ({ stdin }: Io, file: string | undefined, signal: AbortSignal): Promise<Source> => {
  if (file !== undefined) return { input: addAbortSignal(signal, await opened(file)), name: file };
  if (stdin === undefined || stdin.isTTY === true)
    throw new RheoError("invalid_option", "There is nothing to append: give a payload, --file, or lines on stdin.");
  if (stdin instanceof Readable) addAbortSignal(signal, stdin);
  return { input: stdin, name: "stdin" };
};

const opened = async (file: string): Promise<Readable> => {
  try {
    return (await open(file)).createReadStream();
  } catch (error) {
    throw new CommandFailure("input", `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
};

export interface ParseFlags {
  /** A line is a whole event. */
  readonly events?: boolean | undefined;
  /** A payload is text, not JSON. */
  readonly text?: boolean | undefined;
}

/** `flags`: what they say holds for every event. @throws invalid_option */
export const parserOf = ({ events = false, text = false }: ParseFlags, flags: EventFlags): Parse => {
  if (!events) return text ? (line) => withFlags(line, flags) : (line, where) => withFlags(parseJson(line, where), flags);
  if (text || Object.keys(flags).length > 0)
    throw new RheoError("invalid_option", "With --events the lines say everything: leave out --type, --key and the like.");
  return eventOfLine;
};
