import { LineSplitter } from "@rheo/runtime/internal";
import { expect, test } from "vitest";

const split = (...chunks: readonly (string | Buffer)[]): string[] => {
  const lines: string[] = [];
  const splitter = new LineSplitter((text) => lines.push(text));
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  splitter.end();
  return lines;
};

test("a line in pieces comes out whole", () => {
  expect(split("one li", "ne\ntw", "o\n")).toEqual(["one line", "two"]);
});

test("several lines in one piece come out apart, empty ones too", () => {
  expect(split("a\n\nb\r\nc\n")).toEqual(["a", "", "b", "c"]);
});

test("what was begun and never ended comes out at the end", () => {
  expect(split("done\nhalf")).toEqual(["done", "half"]);
});

test("a character that is cut between two pieces is whole again", () => {
  const bytes = Buffer.from("café €\n");
  expect(split(bytes.subarray(0, 4), bytes.subarray(4, 7), bytes.subarray(7))).toEqual(["café €"]);
});

test("a line that never ends is cut, so that it fills no memory", () => {
  const lines: string[] = [];
  const splitter = new LineSplitter((text) => lines.push(text));
  for (let piece = 0; piece < 10; piece++) splitter.push(Buffer.alloc(20_000, "x"));
  expect(lines.map(({ length }) => length)).toEqual([65_536, 65_536, 65_536]);
  splitter.end();
  expect(lines.join("").length).toBe(200_000);
});
