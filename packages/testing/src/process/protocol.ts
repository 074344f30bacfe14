/** What a test and a process that holds backends for it say to each other. */
import type { RheoErrorCode, RheoErrorDetails } from "@rheo/core";

export type Request =
  /** Makes a backend, not yet opened, and keeps it under a number. */
  | { readonly kind: "make"; readonly id: number; readonly backend: number; readonly options: unknown }
  /** Calls a method of the port. `nowMs`: what the test's clock says. */
  | {
      readonly kind: "call";
      readonly id: number;
      readonly backend: number;
      readonly method: string;
      readonly args: readonly unknown[];
      readonly nowMs: number;
    };

export type Answer =
  | { readonly id: number; readonly kind: "value"; readonly value: unknown }
  | {
      readonly id: number;
      readonly kind: "error";
      readonly message: string;
      readonly code: RheoErrorCode | null;
      readonly details: RheoErrorDetails;
      readonly cause: string | null;
    };

/** A backend factory: what `import(module)` exports as `name`. */
export interface Factory {
  /** A file URL. */
  readonly module: string;
  readonly name: string;
}
