import type { Backend } from "@rheo/core";
import { sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import { acks, event, fetching, fill, openBackend, openHandle, REAL_TIME, request } from "./fixtures/store.ts";
import { closing, temporaryFile } from "./fixtures/temporary.ts";

/** The stream of the next wake-up. */
const nextWake = (backend: Backend): Promise<string | null> =>
  new Promise((resolve) => {
    const stop = backend.subscribe(({ stream }) => {
      stop();
      resolve(stream);
    });
  });

describe("wake-ups", () => {
  test("come with the backend's own appends, naming the stream", async () => {
    const backend = await openBackend();
    await fill(backend, 0);
    const woken = nextWake(backend);
    await backend.append([request([event()])]);
    expect(await woken).toBe("s");
  });

  test("come with what another connection commits", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file });
    await fill(backend, 0);
    const other = await openBackend({ file });
    const woken = nextWake(backend);
    await other.append([request([event()])]);
    expect(await woken).toBeNull();
  });

  test("come when deliveries are given back", async () => {
    const backend = await openBackend();
    await fill(backend, 3);
    const [settlement] = acks(await backend.exchange(fetching(3)));
    if (settlement === undefined) throw new Error("nothing fetched");
    const woken = nextWake(backend);
    await backend.exchange({ ...fetching(1, [{ ...settlement, outcome: { kind: "release" } }]), fetch: null });
    expect(await woken).toBe("s");
  });

  test("come when a transaction on the caller's handle that appended is over, and not before", async () => {
    const handle = openHandle(temporaryFile());
    const backend = closing(sqlite({ database: handle }));
    await backend.open(REAL_TIME);
    await fill(backend, 0);
    let committed = false;
    const woken = nextWake(backend).then((stream) => ({ stream, committed }));
    handle.exec("BEGIN IMMEDIATE");
    await backend.append([request([event()])], handle);
    await new Promise((resolve) => setTimeout(resolve, 60));
    committed = true;
    handle.exec("COMMIT");
    expect(await woken).toEqual({ stream: "s", committed: true });
  });

  test("of a listener that throws reach the others, and harm no append", async () => {
    const backend = await openBackend();
    await fill(backend, 0);
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const stop = backend.subscribe(() => {
      throw new Error("boom");
    });
    const woken = nextWake(backend);
    expect(await backend.append([request([event()])])).toMatchObject([{ kind: "appended" }]);
    expect(await woken).toBe("s");
    expect((await warned).message).toContain("boom");
    stop();
  });

  test("end with their subscription", async () => {
    const backend = await openBackend();
    await fill(backend, 0);
    let wakes = 0;
    const stop = backend.subscribe(() => (wakes += 1));
    await backend.append([request([event()])]);
    await Promise.resolve();
    stop();
    await backend.append([request([event()])]);
    await Promise.resolve();
    expect(wakes).toBe(1);
  });
});
