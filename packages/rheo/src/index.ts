/**
 * Everything of `@rheo/core`, `@rheo/memory` and `@rheo/runtime` under one name. Whatever they add is here too, so nothing is
 * listed.
 */
export * from "@rheo/core";
export * from "@rheo/memory";
export * from "@rheo/runtime";
