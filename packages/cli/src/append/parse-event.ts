/** What a line, or an argument, says of an event. */
import { type EventInput, lineage, type Metadata } from "@rheo/core";
import { parseOptions } from "@rheo/core/internal";
import { CommandFailure } from "../failure.ts";

/** What the flags say of every event. */
export interface EventFlags {
  readonly type?: string;
  readonly key?: string;
  readonly id?: string;
  readonly partition?: number;
  readonly timestamp?: Date;
  readonly correlationId?: string;
  readonly causationId?: string;
  readonly metadata?: Metadata;
  readonly expectedSequence?: number;
}

export const withFlags = (payload: unknown, flags: EventFlags): EventInput => {
  const { correlationId, causationId, metadata, ...rest } = flags;
  const linked = lineage({
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(causationId === undefined ? {} : { causationId }),
  });
  const all = { ...metadata, ...linked };
  return { payload, ...rest, ...(Object.keys(all).length === 0 ? {} : { metadata: all }) };
};

/** @throws input - not JSON; `where` names the place */
export const parseJson = (text: string, where: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandFailure("input", `${where} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
};

/** `stream` and `sequence` are where `query --json` found it, and say nothing of where it goes. */
const NAMES = [
  "payload",
  "type",
  "key",
  "id",
  "metadata",
  "timestamp",
  "partition",
  "expectedSequence",
  "stream",
  "sequence",
] as const;

/** A line that is a whole event, as `query --json` prints it. What it says is checked by the library. @throws input, invalid_option */
export const eventOfLine = (text: string, where: string): EventInput => {
  const { stream: _, sequence: __, timestamp, ...event } = parseOptions(where, parseJson(text, where), NAMES);
  if (!("payload" in event)) throw new CommandFailure("input", `${where} has no payload. Without --events a line is a payload.`);
  return {
    ...event,
    ...(timestamp === undefined ? {} : { timestamp: typeof timestamp === "string" ? new Date(timestamp) : timestamp }),
  } as EventInput;
};
