/** For the sibling packages and for authors of backends. Not covered by semver. */

export {
  type AppendPlan,
  type AppendView,
  type PartitionState,
  type PlannedEvent,
  planAppend,
  type StoredStream,
} from "./append-plan.ts";
export { BACKOFF_JITTER, BACKOFF_MAX_MS, backoffMs, isTransient, spread } from "./backoff.ts";
export { GROUP_MEMORY_MS } from "./calls/context.ts";
export { systemClock } from "./clock.ts";
export { type Decode, decoderOf, undecodable } from "./decoding.ts";
export { clockDiagnosis, failure, fine, warning } from "./diagnosis.ts";
export { groupNotFound, isMissing, staleLease, streamNotFound } from "./errors.ts";
export { deepFreeze, toEvent } from "./event.ts";
export { compareText, compileFilter, type Matcher, parseFilter, sameJson, splitPath } from "./filter.ts";
export { type FilterProgram, pathOf, programOf, programText } from "./filter-program.ts";
export { givenOutcome, isThenable } from "./given-outcome.ts";
export { guarded } from "./guarded.ts";
export { uuidv7Source } from "./ids.ts";
export { assignmentStream, retentionStream } from "./internal-streams.ts";
export { internalsOf, type RheoInternals } from "./internals.ts";
export { LIMITS } from "./limits.ts";
export { loadPackage } from "./load-package.ts";
export { parseName } from "./names.ts";
export {
  parseBoolean,
  parseChoice,
  parseNumber,
  parseOptions,
  parseSignal,
  parseText,
  readable,
  unreadable,
} from "./options.ts";
export { failureText } from "./outcome.ts";
export { murmur2, partitionOfKey } from "./partitioner.ts";
export { normaliseMetadata, normalisePayload } from "./payload.ts";
export { hasBit, withBits } from "./progress/bitmap.ts";
export * as progress from "./progress/index.ts";
export type * from "./progress/records.ts";
export { queryMatcher } from "./query.ts";
export { retryDelayMs } from "./retry-policy.ts";
export { isSameEvent } from "./same-event.ts";
export { isVersioned } from "./schema.ts";
export { SpacedSending } from "./spaced-sending.ts";
export { cleanText, isStorable, utf8Bytes } from "./text.ts";
export { leaseId } from "./views.ts";
export { WakeListeners } from "./wake-listeners.ts";
export { withoutPasswords } from "./without-passwords.ts";
