import type { NewEvent } from "./backend.ts";
import type { EventRecord } from "./event.ts";
import { sameJson } from "./filter.ts";

/** Whether appending an event under a stored id means the same event again (L4): content by JSON meaning, whatever its text. */
export const isSameEvent = (stored: EventRecord, event: NewEvent): boolean =>
  stored.type === event.type &&
  stored.key === event.key &&
  isSameText(stored.payload, event.payload) &&
  isSameText(stored.metadata, event.metadata);

const isSameText = (stored: string, given: string): boolean => {
  if (stored === given) return true;
  try {
    return sameJson(JSON.parse(stored), JSON.parse(given));
  } catch {
    return false; // what is stored is damaged
  }
};
