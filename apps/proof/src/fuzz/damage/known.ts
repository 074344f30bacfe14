/** Damage that a store does not deal with as it should yet: by store, and by what is wrong. What is mended is to be taken out. */
export const KNOWN_FAULTS: Readonly<Record<"sqlite" | "redis" | "postgres", readonly string[]>> = {
  // a partition that was never appended to has no record either
  sqlite: ["partition missing"],
  redis: [
    // a filter that looks into it ends the script, and so holds up the whole group
    "payload that is not JSON",
    "payload that is empty",
    "payload with U+0000",
    "event of foreign fields",
    // held up for ever, or passed over without a word
    "event missing",
    "events missing in a row",
    "rheo:{orders/0}:log of a foreign type",
    "rheo:{orders/0}:g:billing:dead of a foreign type",
    "rheo:{orders/0}:g:billing:leases gone",
    "rheo:{orders/0}:g:billing:dead gone",
    // searches go on for ever
    "rheo:{orders/0}:log gone",
    // a SyntaxError or TypeError
    'rheo:{catalog}:streams orders = "{"',
    'rheo:{catalog}:streams orders = "null"',
    // never tried to the end
    'rheo:{catalog}:streams orders = "{\\"partitions\\":1e9}"',
  ],
  postgres: [
    "event missing",
    "events missing in a row",
    "partition missing",
    "cursor too high",
    "cursor missing",
    // inspecting it never ends
    "lease endless",
  ],
};
