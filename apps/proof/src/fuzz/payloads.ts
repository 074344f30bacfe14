/** The doors "names", "payloads" and "filters": what is stored comes back as it was, or is refused. */
import { isDeepStrictEqual } from "node:util";
import { Rheo } from "@rheo/core";
import { filter } from "@rheo/testing/internal";
import fc from "fast-check";
import { STREAM } from "./calls.ts";
import { type Door, doorOf } from "./door.ts";
import { type Hostile, hostile } from "./hostile.ts";
import { judge, pollution } from "./judge.ts";
import { openScene, STORES } from "./scene.ts";

const named = (value: unknown): Hostile => ({ name: fc.stringify(value), make: () => value });
const anything: fc.Arbitrary<Hostile> = fc.oneof(
  fc
    .anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    })
    .map(named),
  fc.jsonValue().map(named),
  hostile,
);

export const payloads: Door = doorOf(
  "payloads",
  fc.record({ url: fc.constantFrom(...STORES), values: fc.array(anything, { minLength: 1, maxLength: 10 }) }),
  async ({ url, values }, counts) => {
    const rheo = await Rheo.open(url);
    const faults: string[] = [];
    try {
      await rheo.createStream(STREAM);
      for (const { name: label, make } of values) {
        const verdict = await judge(async () => {
          const event = await rheo.append(STREAM, { payload: make() });
          return [event, await rheo.getEvent(STREAM, event.id)];
        });
        counts.add(verdict);
        const shown = label.slice(0, 300);
        if (verdict.kind === "fault") faults.push(`payload ${shown}: ${verdict.text}`);
        if (verdict.kind === "value") {
          const [given, read] = verdict.value as [unknown, unknown]; // as returned above
          if (!isDeepStrictEqual(given, read)) faults.push(`payload ${shown}: what is read is not what append gave`);
        }
      }
    } finally {
      await rheo.close();
    }
    const leaked = pollution();
    return leaked === null ? faults : [...faults, leaked];
  },
);

/** Names as L9 has them. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/;
const name = fc.oneof(
  fc.string({ maxLength: 5 }),
  fc.string({ unit: "binary", maxLength: 5 }),
  fc.constantFrom(
    "constructor",
    "toString",
    "__proto__",
    "valueOf",
    "hasOwnProperty",
    "a".repeat(120),
    "a".repeat(121),
    "A",
    "a",
    "a.",
    "-a",
    "a/b",
    "a\n",
    "é",
    "1",
  ),
);

export const names: Door = doorOf(
  "names",
  fc.record({ url: fc.constantFrom(...STORES), given: fc.array(name, { minLength: 1, maxLength: 10 }) }),
  async ({ url, given }, counts) => {
    const rheo = await Rheo.open(url);
    const faults: string[] = [];
    try {
      for (const one of given) {
        const verdict = await judge(async () => {
          await rheo.ensureStream(one);
          await rheo.ensureGroup(one, one);
          await rheo.append(one, { payload: one.length, key: "k" });
          await rheo.fetch(one, one, { consumerId: one, limit: 1 });
          const found = await rheo.groupInfo(one, one);
          if (found.stream !== one || found.name !== one)
            throw new Error(`asked for ${one}, and got ${found.stream}/${found.name}`);
        });
        counts.add(verdict);
        if (verdict.kind === "fault") faults.push(`name ${JSON.stringify(one)}: ${verdict.text}`);
        if ((verdict.kind === "value") !== NAME.test(one)) faults.push(`name ${JSON.stringify(one)}: ${verdict.kind}`);
        if (verdict.kind === "refused" && verdict.code !== "invalid_name")
          faults.push(`name ${JSON.stringify(one)}: ${verdict.code}`);
      }
    } finally {
      await rheo.close();
    }
    return faults;
  },
);

/** A filter of the language, or what is none, or one with a hostile part. */
const anyFilter: fc.Arbitrary<Hostile> = fc.oneof(
  filter.map(named),
  fc.jsonValue().map(named),
  hostile,
  fc
    .tuple(fc.constantFrom("and", "or", "not", "where", "payload.a", "payload", "id"), hostile)
    .map(([at, { name: label, make }]): Hostile => ({ name: `${at}: ${label}`, make: () => ({ [at]: make() }) })),
  fc.tuple(fc.constantFrom("eq", "ne", "gt", "in", "nin", "exists", "startsWith", "like"), hostile).map(
    ([operator, { name: label, make }]): Hostile => ({
      name: `payload.a ${operator} ${label}`,
      make: () => ({ "payload.a": { [operator]: make() } }),
    }),
  ),
);

export const filters: Door = doorOf("filters", fc.array(anyFilter, { minLength: 1, maxLength: 8 }), async (given, counts) => {
  const scenes = await Promise.all(STORES.map(openScene));
  const faults: string[] = [];
  try {
    for (const { name: label, make } of given) {
      const shown = label.slice(0, 300);
      const answers: string[] = [];
      for (const { rheo } of scenes) {
        const verdict = await judge(async () => {
          const found = await rheo.query(STREAM, { where: make() as never }); // whatever it is
          return found.map(({ id }) => id);
        });
        counts.add(verdict);
        if (verdict.kind === "fault") faults.push(`filter ${shown}: ${verdict.text}`);
        answers.push(verdict.kind === "value" ? String(verdict.value) : verdict.kind === "refused" ? verdict.code : verdict.kind);
      }
      if (new Set(answers).size > 1) faults.push(`filter ${shown}: the stores do not agree: ${answers.join(" and ")}`);
    }
  } finally {
    for (const { rheo } of scenes) await rheo.close();
  }
  return faults;
});
