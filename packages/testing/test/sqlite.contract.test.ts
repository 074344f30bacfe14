import { describeBackend } from "@rheo/testing";
import { sqliteStore } from "./sqlite-store.ts";

describeBackend({ name: "sqlite", open: () => sqliteStore() });
