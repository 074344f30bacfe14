/** A member process is killed at a line of its loop: the stage on which the steps of story.ts and owner-story.ts play. */
import { Rheo } from "@rheo/core";
import { KillFindings, type KillScene } from "./kill-scene.ts";
import { Members } from "./members.ts";
import type { OwnerScene } from "./owner-scene.ts";
import { OWNER_STORY } from "./owner-story.ts";
import type { KillPoint } from "./points.ts";
import type { Outcome, StoryReport } from "./report.ts";
import { clearing, type Stage, storyReport } from "./stage.ts";
import { type Audience, allOk, Found, play } from "./step.ts";
import { IF_SETTLED, IF_UNSETTLED, UNTIL_DEATH } from "./story.ts";
import { type ClockKind, storyTime } from "./story-time.ts";

/** Kills a process at a line of its loop and plays out what follows. */
export const killProcess = async (stage: Stage, point: KillPoint, clock: ClockKind, audience: Audience): Promise<StoryReport> => {
  const time = storyTime(clock);
  await using rheo = await Rheo.open(stage.url, time.clock === null ? {} : { clock: time.clock });
  await using _stream = clearing(rheo, stage);
  await using members = new Members(stage.url, () => time.nowMs(), stage.signal);
  const found = new KillFindings();
  const scene: KillScene = {
    rheo,
    names: { stream: stage.stream, group: "risk" },
    point,
    time,
    members,
    signal: stage.signal,
    found,
  };
  const steps = await play(UNTIL_DEATH, scene, audience);
  if (allOk(steps)) steps.push(...(await play(found.settled.get() ? IF_SETTLED : IF_UNSETTLED, scene, audience)));
  return storyReport({ killed: "process", killAt: point, outcome: outcomeOf(found) }, steps);
};

/** The same where one process owns the store: the parent is its heir. */
export const killOwner = async (stage: Stage, point: KillPoint, clock: ClockKind, audience: Audience): Promise<StoryReport> => {
  const time = storyTime(clock);
  const open = (): Promise<Rheo> => Rheo.open(stage.url, time.clock === null ? {} : { clock: time.clock });
  const found = Object.assign(new KillFindings(), { heir: new Found<Rheo>() });
  await using members = new Members(stage.url, () => time.nowMs(), stage.signal);
  const names = { stream: stage.stream, group: "risk" };
  const scene: OwnerScene = { open, names, point, time, members, signal: stage.signal, found };
  try {
    const steps = await play(OWNER_STORY, scene, audience);
    return storyReport({ killed: "process", killAt: point, outcome: outcomeOf(found) }, steps);
  } finally {
    const heir = found.heir.getOrNull();
    if (heir !== null) {
      await clearing(heir, stage)[Symbol.asyncDispose]();
      await heir.close();
    }
  }
};

const outcomeOf = ({ settled, lost, again, lateAck, lag }: KillFindings): Outcome => {
  const [before, after, late] = [lost.getOrNull(), again.getOrNull(), lateAck.getOrNull()];
  return {
    ackLanded: settled.getOrNull(),
    redelivery: before && after && { attempt: after.attempt, victimToken: before.token, token: after.token, afterMs: null },
    lateAck: late && (late.kind === "acked" ? { code: "accepted", why: null } : { code: late.code, why: late.why }),
    lag: lag.getOrNull(),
  };
};
