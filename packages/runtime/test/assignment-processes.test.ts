/** Assigned partitions among real processes, one of which is killed. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Rheo } from "@rheo/core";
import { afterEach, describe, expect, test } from "vitest";
import { sharedStores } from "./shared-stores.ts";
import { fixture, until } from "./store.ts";

const PARTITIONS = 6;
const LEASE_MS = 2_000;
const MEMBER = fileURLToPath(fixture("assigned-member.mjs"));
const all = Array.from({ length: PARTITIONS }, (_, partition) => partition);

type Message =
  | { readonly kind: "holds"; readonly partitions: readonly number[] }
  | { readonly kind: "handled"; readonly partition: number; readonly sequence: number };

class Member {
  holds: readonly number[] = [];
  readonly handled: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(url: string) {
    this.#child = fork(MEMBER, [url], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#ended = new Promise((resolve) => this.#child.once("exit", () => resolve()));
    this.#child.on("message", (message: Message) => {
      if (message.kind === "holds") this.holds = message.partitions;
      else this.handled.push(`${message.partition}@${message.sequence}`);
    });
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.send("stop");
    await this.#ended;
  }
}

const members: Member[] = [];
afterEach(async () => {
  await Promise.all(members.splice(0).map((member) => member.kill()));
});
const join = (url: string): Member => {
  const member = new Member(url);
  members.push(member);
  return member;
};
const isShared = (sizes: readonly number[], ...some: readonly Member[]): boolean =>
  some.map(({ holds }) => holds.length).join() === sizes.join() &&
  new Set(some.flatMap(({ holds }) => holds)).size === PARTITIONS;

for (const { name, place } of sharedStores()) {
  describe(`on ${name}`, () => {
    test("processes that join, die and leave share the partitions, and each event is handled by who holds its partition", async () => {
      const url = place();
      await using rheo = await Rheo.open(url);
      await rheo.createStream("orders", { partitions: PARTITIONS });
      await rheo.createGroup("orders", "g", { leaseMs: LEASE_MS });
      const times: string[] = [];
      const shared = async (what: string, sizes: readonly number[], ...some: readonly Member[]): Promise<void> => {
        const start = performance.now();
        await until(what, () => isShared(sizes, ...some));
        times.push(`${what}: ${Math.round(performance.now() - start)} ms`);
      };
      const a = join(url);
      await shared("one holds all", [6], a);
      const b = join(url);
      await shared("two hold half each, process start included", [3, 3], a, b);
      const c = join(url);
      await shared("three hold a third each, process start included", [2, 2, 2], a, b, c);
      await rheo.appendMany(
        "orders",
        all.map((partition) => ({ partition, payload: 1 })),
      );
      await until("all are handled", async () => (await rheo.lag("orders", "g")).lag === 0);
      for (const member of [a, b, c])
        expect(member.handled.toSorted()).toEqual(member.holds.map((partition) => `${partition}@1`).toSorted());
      await b.kill();
      await shared("the others have what the dead one held", [3, 3], a, c);
      await c.stop();
      await shared("one has everything again", [6], a);
      console.log(`${name}, leases of ${LEASE_MS} ms: ${times.join("; ")}`);
      await a.stop();
    });
  });
}
