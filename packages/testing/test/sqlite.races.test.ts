import { memory } from "@rheo/memory";
import { describeRaces } from "@rheo/testing";
import { sqliteStore } from "./sqlite-store.ts";

describeRaces({ name: "sqlite", races: 60, open: () => sqliteStore(), reference: () => memory() });
