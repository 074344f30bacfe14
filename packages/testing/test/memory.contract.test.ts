import { memory } from "@rheo/memory";
import { describeBackend } from "@rheo/testing";

describeBackend({ name: "memory", open: () => memory() });
