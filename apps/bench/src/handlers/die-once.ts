import { handler } from "@rheo/runtime/handler";

/** Kills its thread on the first attempt, and is done on the second. */
export default handler((_event, context) => {
  if (context.attempt === 1) process.exit(1);
});
