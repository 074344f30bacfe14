/** Visits the store of the URL given, and sends what is wrong. */
import { visit } from "./visit.ts";

const { faults } = await visit(process.argv[2] ?? "");
process.send?.(faults);
process.disconnect();
