import { Redis } from "ioredis";

/** Adds a batch per exchange to a bare stream. In ms. */
export const insertIntoKeys = async (url: string, prefix: string, batches: readonly (readonly string[])[]): Promise<number> => {
  const client = new Redis(url);
  await client.ping();
  const startedMs = performance.now();
  for (const batch of batches) {
    const pipeline = client.pipeline();
    for (const payload of batch) pipeline.xadd(`${prefix}:bare-log`, "*", "payload", payload);
    for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
  }
  const tookMs = performance.now() - startedMs;
  client.disconnect();
  return tookMs;
};
