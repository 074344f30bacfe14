import { describeBackend } from "@rheo/testing";
import { afterAll } from "vitest";
import { sqliteProcess, sqliteStore } from "./sqlite-store.ts";

const other = await sqliteProcess();
afterAll(() => other.stop());

describeBackend({ name: "sqlite in two processes", instances: ["two instances"], open: () => sqliteStore(other) });
