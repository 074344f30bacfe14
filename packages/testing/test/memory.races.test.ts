import { memory } from "@rheo/memory";
import { describeRaces } from "@rheo/testing";

describeRaces({ name: "memory", open: () => memory(), reference: () => memory() });
