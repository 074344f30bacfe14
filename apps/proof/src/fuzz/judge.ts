/** What came of a call: a value, a refusal with a public code, or a fault. */
import { types } from "node:util";
import { RheoError, type RheoErrorCode } from "@rheo/core";
import { failureText } from "@rheo/core/internal";

export type Verdict =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** It waits, as it may. */
  | { readonly kind: "waits" }
  | { readonly kind: "fault"; readonly text: string };

/** A call that takes longer hangs, in ms of real time. */
const HANG_MS = 10_000;
/** A call that may wait is left alone after this, in ms. */
const WAIT_MS = 15;

const CODES: Readonly<Record<RheoErrorCode, true>> = {
  stream_not_found: true,
  group_not_found: true,
  already_exists: true,
  stale_lease: true,
  id_conflict: true,
  sequence_conflict: true,
  invalid_name: true,
  invalid_payload: true,
  invalid_option: true,
  invalid_partition: true,
  invalid_query: true,
  event_too_large: true,
  cursor_not_found: true,
  confirm_required: true,
  nothing_to_replay: true,
  unsupported: true,
  unavailable: true,
  outcome_unknown: true,
  schema_outdated: true,
  closed: true,
  aborted: true,
  draining: true,
};

/** Calls, and judges what comes of it. `mayWait`: it may take as long as it likes. */
export const judge = async (call: () => unknown, mayWait = false): Promise<Verdict> => {
  const late = limit(mayWait ? WAIT_MS : HANG_MS, mayWait);
  try {
    return await Promise.race([settled(call), late.promise]);
  } finally {
    late.cancel();
  }
};

const settled = async (call: () => unknown): Promise<Verdict> => {
  try {
    return { kind: "value", value: await call() };
  } catch (cause) {
    return judgeError(cause);
  }
};

/** Of something thrown. */
export const judgeError = (cause: unknown): Verdict => {
  if (types.isProxy(cause) || !RheoError.is(cause) || !Object.hasOwn(CODES, cause.code))
    return { kind: "fault", text: `not a RheoError: ${describe(cause)}` };
  if (cause.message === "") return { kind: "fault", text: `a ${cause.code} without a message` };
  return { kind: "refused", code: cause.code, message: cause.message };
};

const FRAMES = 6;

const describe = (cause: unknown): string => {
  const { reason, stack } = failureText(cause, "nothing readable");
  return `${reason}\n${stack?.split("\n").slice(1, FRAMES).join("\n") ?? ""}`;
};

const limit = (ms: number, mayWait: boolean): { readonly promise: Promise<Verdict>; cancel(): void } => {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<Verdict>((resolve) => {
    timer = setTimeout(() => resolve(mayWait ? { kind: "waits" } : { kind: "fault", text: `it hangs (${ms} ms)` }), ms);
  });
  return { promise, cancel: () => clearTimeout(timer) };
};

const names = (value: object): string => Reflect.ownKeys(value).map(String).join(" ");
const PROTOTYPES = [Object.prototype, Array.prototype, Function.prototype, Error.prototype] as const;
const CLEAN = PROTOTYPES.map(names);

/** What leaked into the prototypes that all share; null: nothing. */
export const pollution = (): string | null => {
  const at = PROTOTYPES.findIndex((prototype, index) => names(prototype) !== CLEAN[index]);
  return at === -1 ? null : `a prototype was changed: ${names(PROTOTYPES[at] ?? {})}`;
};
