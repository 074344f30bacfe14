import { GROUPS } from "./app.ts";
import { handleIn, type SoakHandler } from "./handle.ts";

const handler: SoakHandler = handleIn(GROUPS.threaded, true);

export default handler;
