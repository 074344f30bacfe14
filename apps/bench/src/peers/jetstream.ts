/** NATS JetStream: a durable pull consumer, and an ack for each message. */
import type { EventInput } from "@rheo/core";
import { versionOf } from "../machine.ts";
import type { Scratch } from "../scratch.ts";
import type { OpenedPeer, Peer, Purpose } from "./peer.ts";

const CONSUMER = "bench";
/** Messages asked for at a time. */
const DEMAND = { drain: 10_000, latency: 100 } as const satisfies Record<Purpose, number>;
/** Delivered and not acked: the default of 1,000 would hold the consumer up. */
const MOST_PENDING = 50_000;
/** Published and not answered, at once: more would only wait in the client. */
const PUBLISHED_AT_ONCE = 1_000;

const open = async ({ url, name }: Scratch): Promise<OpenedPeer> => {
  const { connect } = await import("@nats-io/transport-node");
  const { AckPolicy, jetstream: jetstreamOf, jetstreamManager, StorageType } = await import("@nats-io/jetstream");
  const connection = await connect({ servers: url });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name, subjects: [name], storage: StorageType.File });
  await manager.consumers.add(name, {
    durable_name: CONSUMER,
    ack_policy: AckPolicy.Explicit,
    max_ack_pending: MOST_PENDING,
  });
  const client = jetstreamOf(connection);
  return {
    enqueue: async (events) => {
      for (let from = 0; from < events.length; from += PUBLISHED_AT_ONCE) {
        const some = events.slice(from, from + PUBLISHED_AT_ONCE);
        await Promise.all(some.map((event) => client.publish(name, JSON.stringify(event))));
      }
    },
    consume: async (purpose, handle) => {
      const consumer = await client.consumers.get(name, CONSUMER);
      const messages = await consumer.consume({ max_messages: DEMAND[purpose] });
      const loop = (async () => {
        for await (const message of messages) {
          handle(message.json<EventInput>());
          message.ack();
        }
      })();
      loop.catch(() => undefined); // seen where it is awaited
      return async () => {
        await messages.close();
        await loop;
      };
    },
    isDrained: async () => {
      const { num_pending: waiting, num_ack_pending: unacked } = await manager.consumers.info(name, CONSUMER);
      return waiting + unacked === 0;
    },
    close: () => connection.close(),
  };
};

export const jetstream: Peer = {
  host: "nats",
  beside: ["postgres", "redis"],
  name: "NATS JetStream",
  version: `by @nats-io/jetstream ${versionOf("@nats-io/jetstream")}`,
  settings: {
    append: `file storage, fsync every 2 min (the default), ${PUBLISHED_AT_ONCE} publishes at once`,
    drain: `consume, max_messages ${DEMAND.drain}, an ack for each, max_ack_pending ${MOST_PENDING}`,
    latency: `consume, max_messages ${DEMAND.latency}`,
  },
  recovery: "documented, not measured: what is not acked within ack_wait, 30 s by default, is delivered again",
  open,
};
