/** What the guides name is there, and what they have to name they name. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RheoErrorCode } from "@rheo/core";
import { contractCases } from "@rheo/testing/internal";
import { expect, test } from "vitest";
import { quoted, readGuide, root, rowsOf } from "./tables.ts";

test("the page on troubles has each code of an error", async () => {
  const codes: Record<RheoErrorCode, true> = {
    stream_not_found: true,
    group_not_found: true,
    already_exists: true,
    stale_lease: true,
    id_conflict: true,
    sequence_conflict: true,
    invalid_name: true,
    invalid_payload: true,
    invalid_option: true,
    invalid_partition: true,
    invalid_query: true,
    event_too_large: true,
    cursor_not_found: true,
    confirm_required: true,
    nothing_to_replay: true,
    unsupported: true,
    unavailable: true,
    outcome_unknown: true,
    schema_outdated: true,
    closed: true,
    aborted: true,
    draining: true,
  };
  const explained = new Set(rowsOf(await readGuide("troubleshooting.md")).flatMap(([first = ""]) => quoted(first)));
  expect(Object.keys(codes).filter((code) => !explained.has(code))).toEqual([]);
});

test("each promise of the page on guarantees names a test that is there", async () => {
  const threads = await readFile(join(root, "packages/runtime/test/sessions.test.ts"), "utf8");
  const missing = rowsOf(await readGuide("guarantees.md"))
    .flatMap(([, , shown = ""]) => [...shown.matchAll(/^\*(.+)\*$/g)].map(([, fact = ""]) => fact))
    .filter((fact) => !contractCases.some(({ title }) => title.includes(fact)) && !threads.includes(fact));
  expect(missing).toEqual([]);
});

test("the page on production names each alert once, and none that is not there", async () => {
  const rules = await readFile(join(root, "packages/telemetry/alerts/rheo.yml"), "utf8");
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name).sort();
  const [, section = ""] = (await readGuide("production.md")).split("\n## Alerts\n");
  const cells = rowsOf(section.split("\n## ")[0] ?? "").flat();
  const named = cells.flatMap(quoted).filter((name) => /^Rheo[A-Z]/.test(name));
  expect(named.sort()).toEqual(alerts);
});
