import { memory } from "@rheo/memory";
import { describeRaces } from "@rheo/testing";
import { openStore } from "./fixtures/store.ts";

describeRaces({ name: "lmdb", races: 60, open: () => openStore(), reference: () => memory() });
