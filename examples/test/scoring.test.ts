/** Real computation in real threads. */
import { beforeAll, describe, expect, test } from "vitest";
import { decode, drawImage, type EncodedImage, encode } from "../scoring/src/image.ts";
import { type Run, run } from "../scoring/src/run.ts";
import { Program } from "./fixtures/program.ts";
import { shownIn } from "./fixtures/shown.ts";

describe("200 images scored in two threads, one more among them that kills its thread", () => {
  let result: Run;
  beforeAll(async () => {
    result = await run(2, 200, true);
  }, 120_000);

  test("all others are scored and ranked, each once", () => expect(result.ranked).toBe(200));

  test("the one that kills is a dead letter after its three attempts, and says why", () => {
    expect(result.deadLetters).toEqual([{ id: "poison", attempts: 3, reason: expect.stringContaining("exited with code 139") }]);
  });

  test("the main thread is not busy with it", () => expect(result.mainBusy).toBeLessThan(0.8));
});

describe("an image that is not what its header says is refused", () => {
  const image = encode(drawImage(1, 16));
  const wrong: readonly (readonly [string, Partial<EncodedImage>])[] = [
    ["more pixels than it says", { height: 8 }],
    ["fewer pixels than it says", { height: 32 }],
    ["nothing that can be unpacked", { data: "AAAA" }],
  ];
  test.each(wrong)("%s", (_, change) => expect(() => decode({ ...image, ...change })).toThrow());
});

test("what is drawn and packed comes out the same", () => expect(decode(encode(drawImage(3, 16)))).toEqual(drawImage(3, 16)));

test("it prints what its README shows", async () => {
  await using program = Program.ofExample("scoring", "src/start.ts", ["50"]);
  expect(await program.code, program.stderr).toBe(0);
  const shown = shownIn("scoring", "images/s").source;
  expect(shown).toContain(" 200 ranked");
  expect(program.stdout).toMatch(new RegExp(shown.replaceAll(" 200 ranked", " 50 ranked")));
});
