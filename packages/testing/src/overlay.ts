import type { Backend } from "@rheo/core";

/** A backend that answers with `changes` where given, and with `inner` for the rest. */
export const overlay = (inner: Backend, changes: Partial<Backend>): Backend => {
  const bound = new Map<string | symbol, unknown>();
  return new Proxy(inner, {
    get: (target, name) => {
      if (Object.hasOwn(changes, name)) return Reflect.get(changes, name);
      if (bound.has(name)) return bound.get(name);
      const value: unknown = Reflect.get(target, name, target);
      const found: unknown = typeof value === "function" ? value.bind(target) : value;
      bound.set(name, found);
      return found;
    },
  });
};
