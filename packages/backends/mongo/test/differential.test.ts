/** MongoDB does what the arithmetic in core does. */
import { memory } from "@rheo/memory";
import { playGames } from "@rheo/testing/internal";
import { startMongo } from "@rheo/testing/servers";
import { afterAll, test } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

test("10 games are answered as by memory", { timeout: 300_000 }, () =>
  playGames({
    open: () => openStore(server.url),
    reference: () => memory(),
    games: 10,
    steps: 60,
    recreates: true,
    reopens: false,
  }),
);
