/** Leases on partitions whose holders die one after another. */
import { FrozenClock } from "@rheo/core";
import { assignmentStream } from "@rheo/core/internal";
import { memory } from "@rheo/memory";
import { AssignmentStore, type Claim } from "@rheo/runtime/internal";
import { expect, test } from "vitest";

const LEASE_MS = 1_000;
const PARTITIONS = 4;

const world = async () => {
  const clock = new FrozenClock();
  const backend = memory();
  await backend.open({ clock, migrate: true });
  await backend.createStream("orders", PARTITIONS);
  const member = async (consumerId: string): Promise<AssignmentStore> => {
    const store = new AssignmentStore(
      backend,
      { stream: "orders", group: "g", partitions: PARTITIONS, consumerId },
      () => LEASE_MS,
    );
    await store.ensure();
    return store;
  };
  return { clock, backend, member };
};

test("whoever comes after members that died while they took over can have every partition, and go on", async () => {
  const { clock, backend, member } = await world();
  for (let partition = 0; partition < PARTITIONS; partition++) await (await member(`first-${partition}`)).take(1);
  clock.advance(2 * LEASE_MS);
  // each dies in the middle: what it took over is suspected of its death, and nobody has cleared it
  const request = { stream: assignmentStream("orders", "g"), group: "partitions", settlements: [] };
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const fetch = { limit: 1, maxBytes: 1_000, consumerId: `torn-${partition}`, leaseMs: LEASE_MS, partitions: [0], runLimit: 1 };
    const { grants } = await backend.exchange({ ...request, fetch });
    expect(grants).toMatchObject([{ attempt: 2, events: [{}] }]);
  }
  clock.advance(2 * LEASE_MS);
  const heir = await member("heir");
  const claims: Claim[] = [];
  for (let again = 0; claims.length < PARTITIONS && again < 2 * PARTITIONS; again++)
    claims.push(...(await heir.take(PARTITIONS - claims.length)));
  expect(claims.map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual([1, 2, 3, 4]);
  expect(await heir.renew("partitions", claims)).toEqual([null, null, null, null]);
  await backend.close();
});
