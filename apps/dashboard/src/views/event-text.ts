/** Events as people read them: content as text, cut where it gets long. */
import type { Event } from "@rheo/core";
import { utf8Bytes } from "@rheo/core/internal";

/** A line of a list. */
export interface EventLine {
  readonly id: string;
  readonly stream: string;
  readonly partition: number;
  readonly sequence: number;
  readonly timestampMs: number;
  readonly type: string | null;
  readonly key: string | null;
  /** The beginning of the payload. */
  readonly preview: string;
}

/** Text that may have been cut. */
export interface LongText {
  readonly text: string;
  /** UTF-8 bytes of the whole. */
  readonly bytes: number;
  readonly isCut: boolean;
}

const PREVIEW_CHARACTERS = 200;
/** As much as a browser lays out at once without a pause. */
const TEXT_CHARACTERS = 200_000;

export const eventLine = ({ id, stream, partition, sequence, timestamp, type, key, payload }: Event): EventLine => ({
  id,
  stream,
  partition,
  sequence,
  timestampMs: timestamp.getTime(),
  type,
  key,
  preview: shortText(JSON.stringify(payload), PREVIEW_CHARACTERS),
});

/** At most so many characters, an ellipsis for the rest. */
export const shortText = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;

export const payloadText = ({ payload }: Event): LongText => {
  const text = JSON.stringify(payload, null, 2);
  const isCut = text.length > TEXT_CHARACTERS;
  return { text: isCut ? text.slice(0, TEXT_CHARACTERS).toWellFormed() : text, bytes: utf8Bytes(JSON.stringify(payload)), isCut };
};
