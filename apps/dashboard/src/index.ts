export { createDashboard, type Dashboard } from "./dashboard.ts";
export type { NodeHandler } from "./node.ts";
export type { Authorize, DashboardOptions } from "./options.ts";
export { type ServeDashboardOptions, type ServedDashboard, serveDashboard } from "./serve.ts";
export type { ChildLike, TreeSource } from "./views/tree.ts";
