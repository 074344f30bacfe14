import { describeModel } from "@rheo/testing";
import { sqliteStore } from "./sqlite-store.ts";

describeModel({ name: "sqlite", runs: 25, open: () => sqliteStore() });
