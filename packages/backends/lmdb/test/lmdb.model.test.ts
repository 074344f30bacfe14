import { describeModel } from "@rheo/testing";
import { openStore } from "./fixtures/store.ts";

describeModel({ name: "lmdb", open: () => openStore(), runs: 60 });
