/** What the arithmetic asked for and nobody has loaded yet. It is thrown, loaded, and then the arithmetic begins again. */
export type Need =
  /** Exceptions above `after`, at most `limit`. */
  | { readonly kind: "exceptions"; readonly partition: number; readonly after: number; readonly limit: number }
  | { readonly kind: "exceptionsAt"; readonly partition: number; readonly sequences: readonly number[] }
  /** All of the group that are leased. */
  | { readonly kind: "leasedExceptions" }
  /** The longest due, `limit` of each partition. */
  | { readonly kind: "due"; readonly partitions: readonly number[]; readonly limit: number }
  /** How many wait for their retry. */
  | { readonly kind: "retrying"; readonly partition: number }
  | { readonly kind: "deadLetters"; readonly partition: number; readonly after: number; readonly limit: number }
  /** How many there are above `after`. */
  | { readonly kind: "deadLettersAbove"; readonly partition: number; readonly after: number }
  | { readonly kind: "deadLetterOf"; readonly eventId: string }
  | { readonly kind: "revocations"; readonly partition: number }
  | { readonly kind: "members" }
  | {
      readonly kind: "events";
      readonly partition: number;
      readonly after: number;
      readonly limit: number;
      readonly maxBytes: number;
    }
  | { readonly kind: "eventsAt"; readonly partition: number; readonly sequences: readonly number[]; readonly maxBytes: number }
  | { readonly kind: "headersAt"; readonly partition: number; readonly sequences: readonly number[] }
  | { readonly kind: "sequenceAtTime"; readonly partition: number; readonly timeMs: number }
  /** Where an event of the stream stands. */
  | { readonly kind: "placeOfEvent"; readonly eventId: string };

export class Missing extends Error {
  readonly need: Need;

  constructor(need: Need) {
    super(`${need.kind} must be loaded first`);
    this.name = "Missing";
    this.need = need;
  }
}
