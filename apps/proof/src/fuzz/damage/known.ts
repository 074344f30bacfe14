/** Damage that a store does not deal with as it should yet: by store, and by what is wrong. What is mended is to be taken out. */
export const KNOWN_FAULTS: Readonly<Record<"sqlite" | "redis" | "postgres", readonly string[]>> = {
  sqlite: [],
  // nothing counts them besides
  redis: ["rheo:{orders/0}:g:billing:dead gone"],
  postgres: [],
};
