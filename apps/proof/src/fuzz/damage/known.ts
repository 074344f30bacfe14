/** Damage that a store does not deal with as it should yet: by store, and by what is wrong. What is mended is to be taken out. */
export const KNOWN_FAULTS: Readonly<Record<"sqlite" | "redis" | "postgres", readonly string[]>> = {
  // a partition that was never appended to has no record either
  sqlite: ["partition missing"],
  redis: [
    // passed over without a word
    "rheo:{orders/0}:log of a foreign type",
    "rheo:{orders/0}:g:billing:dead of a foreign type",
    "rheo:{orders/0}:g:billing:leases gone",
    "rheo:{orders/0}:g:billing:dead gone",
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
