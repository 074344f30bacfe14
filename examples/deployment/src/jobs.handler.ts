import { setTimeout as sleep } from "node:timers/promises";
import { handler, reject } from "@rheo/runtime/handler";
import { z } from "zod";

const job = z.object({ name: z.string().max(100), takesMs: z.int().min(0).max(60_000) });

/** Put your work here. This one takes as long as its job says, and ends early when it is told to: what is aborted goes back uncharged. */
export default handler(async ({ payload }, { attempt, logger, signal }) => {
  const { data, error } = job.safeParse(payload);
  if (data === undefined)
    return reject(`not a job: ${error.issues.map(({ path, message }) => `${path.join(".")} ${message}`).join("; ")}`);
  await sleep(data.takesMs, undefined, { signal });
  logger.info(`did ${JSON.stringify(data.name)} (attempt ${attempt})`); // as JSON: a name cannot forge a line of the log
  return undefined;
});
