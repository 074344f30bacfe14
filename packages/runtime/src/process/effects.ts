import type { ProcessEventMap } from "./events.ts";

/** What a transition wants done. */
export type FleetEffect =
  | { readonly type: "spawn"; readonly place: number; readonly serial: number }
  | { readonly type: "drain"; readonly serial: number; readonly timeoutMs: number }
  /** SIGKILL. */
  | { readonly type: "kill"; readonly serial: number }
  | { readonly type: "tell"; readonly event: FleetEvent }
  /** Every process has ended. */
  | { readonly type: "finish" };

/** An event with what the decisions know; errors are text here. `serial` becomes the pid. */
export type FleetEvent = {
  [Type in keyof ProcessEventMap]: { readonly type: Type } & (ProcessEventMap[Type] extends { readonly pid: number }
    ? { readonly serial: number }
    : unknown) & { readonly [Name in Exclude<keyof ProcessEventMap[Type], "pid">]: Texted<ProcessEventMap[Type][Name]> };
}[keyof ProcessEventMap];

type Texted<Value> = Value extends Error ? string : Value;
