import { setTimeout as sleep } from "node:timers/promises";
import { handler } from "@rheo/runtime/handler";

/** Stands for a call to another system. In ms. */
const WAIT_MS = 5;

export default handler(() => sleep(WAIT_MS));
