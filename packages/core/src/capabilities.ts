/**
 * What a backend can and cannot do. The contract suite tests every rule on every backend; where a flag is off it tests the
 * weaker rule named beside it instead.
 */
export interface Capabilities {
  /** Events and progress survive `close` and a crash. Off: they live as long as the backend object. */
  readonly persistent: boolean;
  /** Several processes may open the same store at once. Off: a second opener is refused, or sees a store of its own. */
  readonly distributed: boolean;
  /** Settling and appending inside the caller's transaction (T8). Off: the option is refused as `unsupported`. */
  readonly transactions: boolean;
  /**
   * How a member learns of new events without polling: "process" (appends of the same process only), "store" (of any
   * process). Hints either way; polling is the truth.
   */
  readonly wakeups: "process" | "store";
  /**
   * Appends take effect in the order in which they are called, although their answers are not waited for. Off: each is called when the
   * one before has been answered.
   */
  readonly appendsInCallOrder: boolean;
  /** The largest `maxEventBytes` this store takes, in bytes. */
  readonly maxEventBytes: number;
}
