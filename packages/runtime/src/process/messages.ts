/** What can be told to the parent's decisions. `serial` names a process; what a process that has ended still says is ignored. */
export type FleetMessage = { readonly atMs: number } & (
  | { readonly type: "start" }
  | { readonly type: "tick" }
  /** A sign of life. Every other word from a process is one too. */
  | { readonly type: "beat"; readonly serial: number }
  /** It has read the config. */
  | { readonly type: "configured"; readonly serial: number; readonly stopTimeoutMs: number | null }
  /** It cannot reach the store, and tries on. */
  | { readonly type: "waiting"; readonly serial: number; readonly reason: string }
  /** Its consumers run. */
  | { readonly type: "ready"; readonly serial: number }
  /** It will not run this config, and ends. */
  | { readonly type: "refused"; readonly serial: number; readonly reason: string }
  /** Why it is about to end. */
  | { readonly type: "failed"; readonly serial: number; readonly reason: string }
  /** Somebody else than the parent asked it to end. */
  | { readonly type: "asked"; readonly serial: number }
  /** `how`: in words. `isDrained`: it ended after its drain, and had aborted nothing. `random` is in [0, 1). */
  | {
      readonly type: "exited";
      readonly serial: number;
      readonly how: string;
      readonly isDrained: boolean;
      readonly random: number;
    }
  /** Replace all processes, one at a time. */
  | { readonly type: "restart" }
  /** Let all processes drain and end. Null: for as long as the config says. A later one can only shorten it. */
  | { readonly type: "drain"; readonly timeoutMs: number | null }
);

/** A message without its time, which the parent adds. */
export type Untimed<Message extends FleetMessage = FleetMessage> = Message extends unknown ? Omit<Message, "atMs"> : never;
