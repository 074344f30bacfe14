/** A process in which a mutant may be planted: carries out the order that it is given, and says what was noticed, as JSON. */
import { kill, type Order } from "./kill.ts";

const order = JSON.parse(process.argv[2] ?? "null") as Order; // run-killer.ts gives it
const noticed = await kill(order);
// what a mutant left running must not keep it
process.stdout.write(`${JSON.stringify({ noticed })}\n`, () => process.exit(0));
