import { describeBackend } from "@rheo/testing";
import { sqliteStore } from "./sqlite-store.ts";

// two instances: in two processes, in sqlite.processes.test.ts
const instances =
  process.env.RHEO_LONG === undefined ? (["one instance"] as const) : (["one instance", "two instances"] as const);
describeBackend({ name: "sqlite", instances, open: () => sqliteStore() });
