import { memory } from "@rheo/memory";
import { describeCrashes } from "@rheo/testing";

describeCrashes({ name: "memory", storms: 250, fleets: 25, open: () => memory() });
