/** What a server must be before anything is kept there. */
import { checkServers } from "@rheo/redis/internal";
import { redisCommand, startRedis } from "@rheo/testing/servers";
import { afterAll, describe, expect, test, vi } from "vitest";
import { connect } from "./fixtures/counter.ts";

const server = await startRedis({ settings: { "rename-command": "CONFIG no-such-config" } });
const admin = await startRedis({ settings: { appendonly: "yes" } });
afterAll(async () => {
  await server.stop();
  await admin.stop();
});

const infosOf = async (url: string): Promise<string[]> => {
  const connection = await connect({ url });
  const infos = await connection.infos();
  await connection.end();
  return infos;
};
const OPTIONS = { isCluster: false, allowEviction: false };

describe("a server", () => {
  test.each(["noeviction", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"])(
    "with the policy %s is fine: Rheo's keys have no time to live",
    async (policy) => {
      await redisCommand(admin.port, "CONFIG", "SET", "maxmemory-policy", policy);
      checkServers(await infosOf(admin.url), OPTIONS);
    },
  );

  test.each(["allkeys-lru", "allkeys-lfu", "allkeys-random"])(
    "with the policy %s is refused, unless that is wished",
    async (policy) => {
      await redisCommand(admin.port, "CONFIG", "SET", "maxmemory-policy", policy);
      const infos = await infosOf(admin.url);
      expect(() => checkServers(infos, OPTIONS)).toThrow(
        expect.objectContaining({
          code: "unavailable",
          message: expect.stringMatching(new RegExp(`${policy}.*noeviction.*allowEviction`)),
        }),
      );
      checkServers(infos, { ...OPTIONS, allowEviction: true });
    },
  );

  test("that is too old, or says nothing of its version, is refused", () => {
    for (const version of ["6.2.6", "5.0.0", ""])
      expect(() => checkServers([`redis_version:${version}\r\nmaxmemory_policy:noeviction`], OPTIONS)).toThrow(
        /needs Redis 7\.0/,
      );
    expect(() => checkServers([""], OPTIONS)).toThrow(/unknown version/);
    for (const version of ["7.0.0", "7.2.4", "8.0.1", "10.1.0"])
      checkServers([`redis_version:${version}\r\nmaxmemory_policy:noeviction`], OPTIONS);
  });

  test("that is part of a cluster is refused by one who does not know it", () => {
    const info = "redis_version:7.0.15\r\ncluster_enabled:1\r\nmaxmemory_policy:noeviction";
    expect(() => checkServers([info], OPTIONS)).toThrow(/redis\(\{ nodes \}\)/);
    checkServers([info], { ...OPTIONS, isCluster: true });
  });

  test("of a cluster is refused if any master may drop keys", () => {
    const infoOf = (policy: string): string => `redis_version:7.0.15\r\ncluster_enabled:1\r\nmaxmemory_policy:${policy}`;
    const infos = [infoOf("noeviction"), infoOf("allkeys-lru")];
    expect(() => checkServers(infos, { ...OPTIONS, isCluster: true })).toThrow(/allkeys-lru/);
  });

  test("without an append-only file is warned of, once; CONFIG is not needed for that", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const infos = await infosOf(server.url);
    checkServers(infos, OPTIONS);
    checkServers(infos, OPTIONS);
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining("appendonly yes"), { type: "RheoWarning", code: "RHEO_REDIS_NO_AOF" }],
    ]);
    warn.mockClear();
    checkServers(await infosOf(admin.url), { ...OPTIONS, allowEviction: true });
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});
