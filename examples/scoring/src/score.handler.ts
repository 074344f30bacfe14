/** The first stage, in worker threads: an image is decoded and scored, and its score appended for the second stage. */
import { Rheo } from "@rheo/core";
import { type HandlerContext, handler } from "@rheo/runtime/handler";
import { decode } from "./image.ts";
import { sharpness } from "./score.ts";
import { images, scores } from "./streams.ts";

export default handler(
  async ({ id, key, payload }, { value: rheo }: HandlerContext<Rheo>) => {
    const score = { image: id, sharpness: sharpness(decode(payload)) };
    // under an id made of the image's: when this thread dies before the ack, the next attempt's append finds it there
    await rheo.append(scores, { id: `score-${id}`, type: "scored", key, payload: score });
  },
  {
    stream: images,
    setup: () => Rheo.open(process.env.SCORING_STORE ?? "sqlite:./scoring.db"), // of its own: nothing is shared between threads
    teardown: (rheo) => rheo.close(),
  },
);
