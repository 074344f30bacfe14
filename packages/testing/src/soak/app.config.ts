/** What the processes of a soak run: two groups of one stream, over a store that is watched. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { internalsOf } from "@rheo/core/internal";
import { DRAIN_MS, GROUPS, LEASE_MS, PARTITIONS, soakEnvironment } from "./app.ts";
import { workInside } from "./inside.ts";
import { Recorder } from "./record.ts";
import { recorded } from "./recorded.ts";

const environment = soakEnvironment();
const { url, folder, stream } = environment;

/** On SIGUSR2 the event loop stands still, for as many ms as the file of this process says. */
process.on("SIGUSR2", () => {
  const ms = Number(readFileSync(join(folder, `block-${process.pid}`), "utf8"));
  for (const end = performance.now() + ms; performance.now() < end; );
});

/**
 * Retries are quick, and a delivery that is taken over again and again does not die of it: nothing here may end but as its payload
 * says.
 */
const createGroup = { leaseMs: LEASE_MS, maxAttempts: 200, retry: { minMs: 10, maxMs: 200 } } as const;

const openRecorded = async (): Promise<Rheo> => {
  const rheo = await Rheo.open(url);
  await rheo.ensureStream(stream, { partitions: PARTITIONS });
  // the work inside looks at them at once
  await rheo.ensureGroup(stream, GROUPS.threaded, createGroup);
  await rheo.ensureGroup(stream, GROUPS.keyed, { ...createGroup, ordering: "key" });
  const recorder = new Recorder(folder, `port-${process.pid}`);
  void workInside(rheo, environment).catch((error: unknown) => {
    console.error("the work inside:", error);
    process.exit(1);
  });
  return await Rheo.open({ backend: recorded(internalsOf(rheo).backend, recorder, () => rheo.close()) });
};

const config: object = {
  store: openRecorded,
  threads: 2,
  stopTimeoutMs: DRAIN_MS,
  consumers: [
    {
      stream,
      group: GROUPS.threaded,
      handler: new URL("./threaded.handler.js", import.meta.url),
      concurrency: 4,
      pollMs: 100,
      createGroup,
    },
    {
      stream,
      group: GROUPS.keyed,
      handler: new URL("./keyed.handler.js", import.meta.url),
      execution: "inline",
      concurrency: 8,
      pollMs: 100,
      createGroup: { ...createGroup, ordering: "key" },
    },
  ],
};

export default config;
