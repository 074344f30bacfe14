/** What the steps of one killed owner share. */
import type { Rheo } from "@rheo/core";
import type { KillFindings, KillScene } from "./kill-scene.ts";
import type { Found } from "./step.ts";

export interface OwnerScene extends Omit<KillScene, "rheo" | "found"> {
  /** Opens the store in this process. */
  readonly open: () => Promise<Rheo>;
  readonly found: KillFindings & { readonly heir: Found<Rheo> };
}
