import { memory } from "@rheo/memory";
import { describeModel } from "@rheo/testing";

describeModel({ name: "memory", runs: 400, open: () => memory() });
