/** The options of `rheo start`, as commander gives them. Durations in ms. */
export interface StartFlags {
  readonly processes: number;
  readonly store?: string;
  readonly drainTimeout?: number;
  readonly hangTimeout?: number;
  readonly startTimeout?: number;
  readonly maxRestarts?: number;
  readonly within?: number;
  readonly readyFile?: string;
  readonly json: boolean;
}

/** What a way of running the consumers is given. */
export interface StartRequest {
  /** Path of the config module. */
  readonly config: string;
  readonly flags: StartFlags;
  /** A store URL for when neither the flags nor the config name one, or null. */
  readonly fallbackStore: string | null;
}
