import { defineConsumer, supervise } from "@rheo/runtime";
import { milliseconds, type Question } from "../question.ts";

const HANDLER = new URL("../handlers/die-once.js", import.meta.url);

/** From the death of a thread inside a handler to the next start of the same event. */
export const threadDeath: Question = {
  name: "thread-death",
  title: "thread death → redelivery",
  ask: async (system) => {
    const opened = await system.open();
    const { rheo } = opened;
    await rheo.createStream("bench");
    await rheo.createStream("starts");
    const consumer = defineConsumer({ stream: "bench", group: "deadly", handler: HANDLER, createGroup: {} });
    const app = await supervise({ rheo, consumers: [consumer], threads: 2 });
    const died = new Promise<number>((resolve) => rheo.events.once("thread.died", () => resolve(performance.now())));
    const again = new Promise<number>((resolve) =>
      rheo.events.on("lease.settled", ({ acked }) => acked > 0 && resolve(performance.now())),
    );
    await rheo.append("bench", { payload: null });
    const [death, ack] = await Promise.all([died, again]);
    await app.stop();
    await opened.close();
    return [milliseconds("thread death noticed → redelivered, handled, acked", system, ack - death)];
  },
};
