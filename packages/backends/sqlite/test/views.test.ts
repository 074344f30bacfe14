import { describe, expect, test } from "vitest";
import { acks, event, fetching, fill, openBackend, openHandle, request } from "./fixtures/store.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

describe("plain SQL", () => {
  test("reads events with their JSON through rheo_events_view", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file });
    await backend.createStream("s", 1);
    const made = event({
      id: "e1",
      timestampMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      key: "EUR-6M",
      metadata: '{"source":"desk"}',
      payload: '{"price":2.913}',
    });
    await backend.append([request([made, event()])]);
    const query =
      "SELECT stream, partition, sequence, id, time, type, key, metadata ->> '$.source', payload -> '$.price' FROM rheo_events_view WHERE payload ->> '$.price' > 2";
    expect(openHandle(file).prepare(query).raw().all()).toEqual([
      ["s", 0, 1, "e1", "2026-01-02T03:04:05.678Z", "made", "EUR-6M", "desk", "2.913"],
    ]);
  });

  test("reads lag through rheo_lag_view, the same as the backend says", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file });
    await fill(backend, 10);
    const lag = (): unknown[] =>
      openHandle(file)
        .prepare("SELECT stream, group_name, partition, frontier, high_watermark, lag FROM rheo_lag_view")
        .raw()
        .all();
    expect(lag()).toEqual([["s", "g", 0, 0, 10, 10]]);
    const fetched = await backend.exchange(fetching(6));
    const [settlement] = acks(fetched);
    if (settlement === undefined) throw new Error("nothing fetched");
    await backend.exchange({ ...fetching(1, [{ ...settlement, sequences: [1, 2, 5] }]), fetch: null });
    expect(lag()).toEqual([["s", "g", 0, 2, 10, 8]]);
    await backend.exchange({
      ...fetching(1, [
        { ...settlement, sequences: [3], outcome: { kind: "retry", delayMs: 60_000, reason: "later", stack: null } },
      ]),
      fetch: null,
    });
    await backend.exchange({ ...fetching(1, [{ ...settlement, sequences: [4, 6] }]), fetch: null });
    expect(lag()).toEqual([["s", "g", 0, 2, 10, 8]]);
    expect(await backend.progress("s", "g")).toMatchObject([{ frontier: 2 }]);
  });
});
