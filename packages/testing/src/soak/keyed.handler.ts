import { GROUPS } from "./app.ts";
import { handleIn, type SoakHandler } from "./handle.ts";

const handler: SoakHandler = handleIn(GROUPS.keyed, false);

export default handler;
