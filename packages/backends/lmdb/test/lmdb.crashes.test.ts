import { describeCrashes } from "@rheo/testing";
import { openStore } from "./fixtures/store.ts";

describeCrashes({ name: "lmdb", open: () => openStore(), storms: 12, fleets: 2 });
