import type { Rheo } from "@rheo/core";
import { loadPackage } from "@rheo/core/internal";

/** What is used of `@rheo/dashboard`. */
export interface DashboardModule {
  readonly serveDashboard: (options: {
    readonly rheo: Rheo;
    readonly port: number;
    readonly host: string;
    readonly token?: string;
  }) => Promise<{ readonly url: string; close(): Promise<void> }>;
}

/** @throws unsupported - it is not installed */
export const loadDashboard = async (): Promise<DashboardModule> => (await loadPackage("@rheo/dashboard")) as DashboardModule; // by its name
