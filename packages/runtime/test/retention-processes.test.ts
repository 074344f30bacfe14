/** Retention among real processes, whose leader is killed while it archives. */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Event, Rheo } from "@rheo/core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { sharedStores } from "./shared-stores.ts";
import { fixture, until } from "./store.ts";

const MEMBER = fileURLToPath(fixture("retention-member.mjs"));
const KILLS = 3;
const PARTITIONS = 2;

interface Archived {
  readonly partition: number;
  readonly token: number;
  readonly ids: readonly (readonly [sequence: number, id: string])[];
}

class Member {
  token: number | null = null;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(url: string, file: string) {
    this.#child = fork(MEMBER, [url, file], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#ended = new Promise((resolve) => this.#child.once("exit", () => resolve()));
    this.#child.on("message", ({ token }: { token: number }) => {
      this.token = token;
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

let folder = "";
const members = new Set<Member>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-retention-"));
});
afterEach(async () => {
  await Promise.all([...members].map((member) => member.kill()));
  members.clear();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const archivedIn = async (file: string): Promise<Archived[]> => {
  const text = await readFile(file, "utf8").catch(() => "");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Archived);
};

for (const { name, place } of sharedStores()) {
  describe(`on ${name}`, () => {
    test("the leader is killed again and again: another takes over, and nothing goes that was not archived (L10)", async () => {
      const url = place();
      const file = join(folder, `${name}.jsonl`);
      await using rheo = await Rheo.open(url);
      await rheo.createStream("orders", { partitions: PARTITIONS });
      const appended: Event[] = [];
      const append = async (): Promise<void> => {
        const inputs = Array.from({ length: 20 }, (_, n) => ({ payload: n, partition: n % PARTITIONS }));
        appended.push(...(await rheo.appendMany("orders", inputs)));
      };
      const enter = (): void => void members.add(new Member(url, file));
      enter();
      enter();
      const tokens: number[] = [];
      for (let kill = 0; kill <= KILLS; kill++) {
        await until(`leader ${kill} archives`, async () => {
          await append();
          return (await archivedIn(file)).some(({ token }) => token > (tokens.at(-1) ?? 0));
        });
        tokens.push((await archivedIn(file)).at(-1)?.token ?? 0);
        const leader = [...members].find(({ token }) => token === tokens.at(-1));
        if (leader === undefined || kill === KILLS) continue;
        await leader.kill();
        members.delete(leader);
        enter();
      }
      expect([tokens.length, tokens.toSorted((a, b) => a - b)]).toEqual([KILLS + 1, tokens]);
      await until("all that may go has gone", async () =>
        (await rheo.streamInfo("orders")).partitions.every(({ events }) => events === 3),
      );
      await Promise.all([...members].map((member) => member.stop()));
      const archived = new Set((await archivedIn(file)).flatMap(({ ids }) => ids.map(([, id]) => id)));
      const firsts = (await rheo.streamInfo("orders")).partitions.map(({ firstSequence }) => firstSequence);
      const removed = appended.filter(({ partition, sequence }) => sequence < (firsts[partition] ?? 0));
      expect(removed.length).toBe(appended.length - 3 * PARTITIONS);
      expect(removed.filter(({ id }) => !archived.has(id))).toEqual([]);
    });
  });
}
