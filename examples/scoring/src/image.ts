/** Grey images as they travel in events: a header, and deflated pixels. Much like a PNG, and as little to be trusted. */
import { deflateSync, inflateSync } from "node:zlib";
import { z } from "zod";

/** What is larger is refused before it is unpacked, so that a small event cannot ask for a large part of the memory. */
const MAX_SIDE = 512;

const side = z.int().min(1).max(MAX_SIDE);
export const encodedImage = z.object({ codec: z.enum(["deflate", "broken"]), width: side, height: side, data: z.base64() });
export type EncodedImage = z.infer<typeof encodedImage>;

export interface Image {
  readonly width: number;
  readonly height: number;
  /** One byte for each pixel, row by row. */
  readonly pixels: Uint8Array;
}

/** A picture of waves and noise, the same for the same number: the higher, the softer. */
export const drawImage = (n: number, sideLength: number): Image => {
  const pixels = new Uint8Array(sideLength * sideLength);
  const softness = 2 + (n % 40);
  for (let y = 0, at = 0; y < sideLength; y++)
    for (let x = 0; x < sideLength; x++, at++)
      pixels[at] = 128 + 90 * Math.sin((x + n) / softness) * Math.cos(y / softness) + ((x * 31 + y * 17 + n * 7) % 23);
  return { width: sideLength, height: sideLength, pixels };
};

export const encode = ({ width, height, pixels }: Image): EncodedImage => ({
  codec: "deflate",
  width,
  height,
  data: deflateSync(pixels).toString("base64"),
});

/** @throws when it is not what its header says */
export const decode = ({ codec, width, height, data }: EncodedImage): Image => {
  if (codec === "broken") process.exit(139); // stands for a codec that takes its thread down with it
  const pixels = inflateSync(Buffer.from(data, "base64"), { maxOutputLength: width * height });
  if (pixels.length !== width * height) throw new RangeError(`${pixels.length} pixels are not ${width} × ${height}`);
  return { width, height, pixels: new Uint8Array(pixels) };
};
