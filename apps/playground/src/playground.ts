/** The parts of a running playground, and what the page may ask of them. */
import type { PartitionHolder } from "@rheo/core";
import type { Command, CommandType } from "./command.ts";
import type { Hand } from "./hand.ts";
import type { Fleet } from "./members/fleet.ts";
import type { Narration } from "./narration.ts";
import type { Place } from "./place.ts";
import type { Publisher } from "./publisher.ts";
import type { Stage } from "./stage.ts";
import type { Tour } from "./tour/tour.ts";
import type { StateView } from "./views.ts";

export interface Playground {
  readonly place: Place;
  readonly stage: Stage;
  readonly narration: Narration;
  readonly publisher: Publisher;
  readonly fleet: Fleet;
  readonly hand: Hand;
  readonly tour: Tour;
}

type CommandOf<Type extends CommandType> = Extract<Command, { readonly type: Type }>;
type Carrying = { readonly [Type in CommandType]: (playground: Playground, command: CommandOf<Type>) => Promise<void> | void };

const CARRYING: Carrying = {
  publish: ({ publisher }, { count, poison }) => publisher.publish(count, poison),
  publisher: ({ publisher }, { perSecond }) => publisher.run(perSecond),
  redrive: async ({ stage: { rheo, stream, group } }) => {
    await rheo.redrive(stream, group, { all: true });
  },
  start: ({ fleet }) => fleet.start(),
  member: ({ fleet }, { name, deed }) => fleet.carryOut(name, deed),
  mode: ({ fleet }, { name, mode }) => fleet.work(name, mode),
  restarts: ({ fleet }, { on }) => {
    fleet.restarts = on;
  },
  hand: ({ hand }, { deed }) => (deed === "take" ? hand.take() : hand.ack()),
  tour: ({ tour }, { deed }) => (deed === "next" ? tour.next() : tour.restart()),
};

export const carryOut = async <Type extends CommandType>(playground: Playground, command: CommandOf<Type>): Promise<void> => {
  const carry: (playground: Playground, command: CommandOf<Type>) => Promise<void> | void = CARRYING[command.type as Type];
  await carry(playground, command);
};

/** @param afterLine - the last line that the page has */
export const stateOf = async (
  { place, stage, narration, publisher, fleet, hand, tour }: Playground,
  afterLine: number,
): Promise<StateView> => {
  const { rheo, stream, group } = stage;
  const [info, progress, holders] = await Promise.all([
    rheo.groupInfo(stream, group),
    rheo.lag(stream, group),
    rheo.explainLag(stream, group),
  ]);
  const members = fleet.views(new Map(info.members.map(({ consumerId, leases }) => [consumerId, leases])));
  const published = progress.partitions.reduce((sum, { highWatermark }) => sum + highWatermark, 0);
  const { lag, inflight, retrying, deadLetters: dead } = info;
  return {
    store: place.shownUrl,
    stream,
    group,
    numbers: { published, lag, inflight, retrying, dead, members: members.length },
    holders: holders.map(holderText),
    publishing: publisher.perSecond,
    restarts: fleet.restarts,
    members,
    hand: hand.view,
    tour: tour.view,
    lines: narration.after(afterLine),
  };
};

const holderText = ({ partition, sequence, state, expired, consumerId, attempt }: PartitionHolder): string => {
  const place = `${partition}@${sequence}`;
  if (state === "leased" && expired) return `${place}: its lease, of ${consumerId}, has run out, and nobody has claimed it yet`;
  if (state === "leased") return `${place}: leased by ${consumerId}, attempt ${attempt}`;
  if (state === "retrying") return `${place}: failed on attempt ${attempt}, and waits for its delay to end`;
  return `${place}: not offered yet`;
};
