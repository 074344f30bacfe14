/** What one process does by itself where nobody else may open the store: it appends, and says how far the groups are. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Rheo, RheoError } from "@rheo/core";
import { GROUPS, type SoakEnvironment } from "./app.ts";
import { Producer } from "./producer.ts";
import { nowMicros, Recorder, readRecords } from "./record.ts";

/** A file of this name in the folder of the run says that nothing more is to be appended. */
export const CALM_FILE = "calm";
const LOOK_MS = 250;

export const workInside = async (rheo: Rheo, { folder, stream, inside }: SoakEnvironment): Promise<void> => {
  if (inside === null) return;
  const recorder = new Recorder(folder, `inside-${process.pid}`);
  let from = 0;
  for (const record of readRecords(folder))
    if (record.kind === "appended") for (const { number } of record.events) from = Math.max(from, number + 1);
  const producer = new Producer({
    rheo,
    stream,
    from,
    ...inside,
    onAppended: (events) => recorder.write({ kind: "appended", at: nowMicros(), events }),
  });
  const isCalm = (): boolean => existsSync(join(folder, CALM_FILE));
  for (let ended = false; ; ) {
    if (!ended && isCalm()) {
      await producer.end();
      ended = true;
    }
    for (const group of Object.values(GROUPS)) {
      const at = nowMicros();
      try {
        const { lag, partitions } = await rheo.lag(stream, group);
        const frontier = partitions.map(({ frontier: to }) => to);
        recorder.write({ kind: "frontier", group, from: at, to: nowMicros(), frontier, isDrained: ended && lag === 0 });
      } catch (error) {
        if (RheoError.is(error, "closed")) return;
        throw error;
      }
    }
    await new Promise<void>((resolve) => void setTimeout(resolve, LOOK_MS).unref());
  }
};
