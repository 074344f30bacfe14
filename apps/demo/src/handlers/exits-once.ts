/** A handler like any other, but for one type of event: its first attempt ends the worker thread on the spot. */
import { BroadcastChannel } from "node:worker_threads";
import { ack, type DefinedHandler, type Event, handler } from "@rheo/runtime/handler";
import { ATTEMPTS_CHANNEL, type Attempt, FATAL } from "../attempts.ts";

const exitsOnce: DefinedHandler = handler(
  ({ stream, sequence, type }: Event, { attempt, token, value: channel }) => {
    channel.postMessage({ stream, sequence, attempt, token, atMs: Date.now() } satisfies Attempt);
    if (type === FATAL && attempt === 1) process.exit(1);
    return ack();
  },
  {
    setup: () => {
      const channel = new BroadcastChannel(ATTEMPTS_CHANNEL);
      channel.unref();
      return channel;
    },
    teardown: (channel) => channel.close(),
  },
);

export default exitsOnce;
