/** Where there is no Redis server this is the only file that is run, so that nobody takes silence for success. */
import { findRedis } from "@rheo/testing/servers";
import { expect, test } from "vitest";

const MISSING = "redis-server is not installed, so nothing is tested on Redis (Debian: apt-get install redis-server)";
if (findRedis() === null) console.warn(`\n*** NOT RUN: ${MISSING}. ***\n`);

test.skipIf(findRedis() === null && process.env.CI !== "true")("the tests of this folder have a server", () => {
  expect(findRedis(), MISSING).not.toBeNull();
});
