import { describeCrashes } from "@rheo/testing";
import { sqliteStore } from "./sqlite-store.ts";

describeCrashes({ name: "sqlite", storms: 12, fleets: 3, open: () => sqliteStore() });
