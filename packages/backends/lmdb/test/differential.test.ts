/** The store does what the arithmetic in core does. At the end of a game it is closed and opened again: it looks the same. */
import { memory } from "@rheo/memory";
import { playGames } from "@rheo/testing/internal";
import { test } from "vitest";
import { openStore } from "./fixtures/store.ts";

test("random calls of the port are answered as by memory", { timeout: 600_000 }, () =>
  playGames({ open: () => openStore(), reference: () => memory(), games: 60, steps: 90, recreates: true, reopens: true }),
);
