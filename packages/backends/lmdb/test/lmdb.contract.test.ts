import { describeBackend } from "@rheo/testing";
import { openStore } from "./fixtures/store.ts";

describeBackend({ name: "lmdb", open: () => openStore() });
