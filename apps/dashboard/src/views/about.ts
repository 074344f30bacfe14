import type { Capabilities } from "@rheo/core";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";

export interface AboutView {
  /** Name of the instance. */
  readonly instance: string;
  readonly capabilities: Capabilities;
  /** Whether the dashboard was given a supervisor. */
  readonly hasTree: boolean;
  /** Whether readers are asked for a token. */
  readonly hasToken: boolean;
}

export const about: View = {
  everyMs: 60_000,
  isHeavy: false,
  prepare:
    (_params: Params, { rheo, app, hasToken }: Sources) =>
    async (): Promise<AboutView> => {
      await rheo.ping();
      return { instance: rheo.name, capabilities: rheo.capabilities, hasTree: app !== null, hasToken };
    },
};
