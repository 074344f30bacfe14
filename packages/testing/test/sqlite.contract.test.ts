import { describeBackend } from "@rheo/testing";
import { isLong } from "@rheo/testing/internal";
import { sqliteStore } from "./sqlite-store.ts";

// two instances: in two processes, in sqlite.processes.test.ts
const instances = isLong() ? (["one instance", "two instances"] as const) : (["one instance"] as const);
describeBackend({ name: "sqlite", instances, open: () => sqliteStore() });
