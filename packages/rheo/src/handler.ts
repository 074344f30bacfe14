/** What a handler module imports; the same as `@rheo/runtime/handler`. */
export * from "@rheo/runtime/handler";
