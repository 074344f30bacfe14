/** The second stage, in the main thread: scores are sorted into sharp and soft, and written in batches, one transaction for each. */
import type { Rheo } from "@rheo/core";
import { type BatcherOptions, type Message, pipeline, type RunningPipeline } from "@rheo/pipeline";
import type Database from "libsql";
import { scores } from "./streams.ts";

const SHARP = 3;

interface Score {
  readonly image: string;
  readonly sharpness: number;
}

export const rank = (rheo: Rheo, database: Database.Database): RunningPipeline => {
  database.exec("CREATE TABLE IF NOT EXISTS ranking (image TEXT PRIMARY KEY, sharpness REAL NOT NULL, shelf TEXT NOT NULL)");
  // a batch may come again: what is written twice is written the same
  const write = database.prepare("INSERT OR REPLACE INTO ranking VALUES (?, ?, ?)");
  const shelf = (name: string): BatcherOptions<Score, Score> => ({
    size: 50,
    waitMs: 20,
    handle: database.transaction((messages: readonly Message<Score>[]) => {
      for (const { data } of messages) write.run(data.image, data.sharpness, name);
    }),
  });
  return pipeline<Score>({
    rheo,
    stream: scores,
    group: "ranking",
    createGroup: {},
    processors: { handle: ({ data }) => ({ batcher: data.sharpness >= SHARP ? "sharp" : "soft" }) },
    batchers: { sharp: shelf("sharp"), soft: shelf("soft") },
  });
};
