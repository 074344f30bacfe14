import type { Image } from "./image.ts";

const SCALES = [1, 2, 3, 4, 5] as const;

/**
 * How sharp an image is: what is left of it when it is blurred and taken away, at five scales. Written to be read, not to be quick: it is
 * the heavy work of this example.
 */
export const sharpness = (image: Image): number => {
  let sum = 0;
  for (const radius of SCALES) sum += difference(image.pixels, blur(image, radius)) / radius;
  return Number((sum / SCALES.length).toFixed(3));
};

const difference = (one: Uint8Array, other: Float32Array): number => {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += Math.abs((one[at] ?? 0) - (other[at] ?? 0));
  return sum / one.length;
};

/** The mean of each pixel's square neighbourhood. */
const blur = ({ width, height, pixels }: Image, radius: number): Float32Array => {
  const blurred = new Float32Array(pixels.length);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      let sum = 0;
      let count = 0;
      for (let v = Math.max(0, y - radius); v <= Math.min(height - 1, y + radius); v++)
        for (let u = Math.max(0, x - radius); u <= Math.min(width - 1, x + radius); u++, count++)
          sum += pixels[v * width + u] ?? 0;
      blurred[at] = sum / count;
    }
  }
  return blurred;
};
