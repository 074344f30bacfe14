/** The contract, although every tenth write in a transaction is refused as a conflict: nobody notices. */
import type { Backend } from "@rheo/core";
import { describeBackend, type StoreUnderTest } from "@rheo/testing";
import { isLong } from "@rheo/testing/internal";
import { startMongo } from "@rheo/testing/servers";
import { afterAll, test } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

/** In a transaction of the caller's a conflict is the caller's to handle, so here there are none. */
const withoutTransactions = (backend: Backend): Backend =>
  new Proxy(backend, {
    get: (target, name) => {
      if (name === "capabilities") return { ...target.capabilities, transactions: false };
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

const open = async (): Promise<StoreUnderTest> => {
  const store = await openStore(server.url);
  return {
    backend: withoutTransactions(store.backend),
    again: async () => withoutTransactions(await store.again()),
    dispose: () => store.dispose?.(),
  };
};

if (!isLong()) {
  test.todo("the contract with conflicts, which is of the long tests: npm run test:long; others have them always");
} else if (!server.real) {
  await server.addFault({ kind: "conflict", command: "update", probability: 0.1, seed: 5 });
  describeBackend({ name: "mongo with conflicts", instances: ["one instance"], open });
}
