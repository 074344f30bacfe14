import { defineStream } from "@rheo/core";
import { z } from "zod";
import { encodedImage } from "./image.ts";

/** What comes in. */
export const images = defineStream({ name: "images", partitions: 4, schema: encodedImage });

/** What the first stage makes of it, for the second. */
export const scores = defineStream({
  name: "scores",
  partitions: 4,
  schema: z.object({ image: z.string(), sharpness: z.number() }),
});
