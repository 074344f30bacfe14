/** The live half: its controls, and what they show. */
import type { HandView, Poison, StateView } from "../views.ts";
import { send } from "./api.ts";
import { byId, setText } from "./element.ts";
import { showMembers } from "./members.ts";
import { showLines } from "./narration.ts";
import { showHolders, showNumbers } from "./strip.ts";

const publisher = byId("publisher", HTMLButtonElement);
const perSecond = byId("per-second", HTMLInputElement);
const restarts = byId("restarts", HTMLInputElement);
const handAck = byId("hand-ack", HTMLButtonElement);
const redrive = byId("redrive", HTMLButtonElement);
const handTake = byId("hand-take", HTMLButtonElement);
const hand = byId("hand", HTMLParagraphElement);
let isPublishing = false;

export const wireLive = (): void => {
  for (const control of document.querySelectorAll<HTMLButtonElement>("button[data-publish]"))
    control.addEventListener("click", () => {
      const { publish, poison = "none" } = control.dataset;
      void send({ type: "publish", count: Number(publish), poison: poison as Poison }); // as index.html has it
    });
  publisher.addEventListener(
    "click",
    () => void send({ type: "publisher", perSecond: isPublishing ? 0 : Number(perSecond.value) }),
  );
  redrive.addEventListener("click", () => void send({ type: "redrive" }));
  byId("start", HTMLButtonElement).addEventListener("click", () => void send({ type: "start" }));
  restarts.addEventListener("change", () => void send({ type: "restarts", on: restarts.checked }));
  handTake.addEventListener("click", () => void send({ type: "hand", deed: "take" }));
  handAck.addEventListener("click", () => void send({ type: "hand", deed: "ack" }));
};

export const showLive = (state: StateView): void => {
  showNumbers(state.numbers);
  showHolders(state.holders);
  showMembers(state.members);
  showLines(state.lines);
  showHand(state.hand);
  redrive.disabled = state.numbers.dead === 0;
  isPublishing = state.publishing > 0;
  setText(publisher, isPublishing ? `Stop publishing ${state.publishing} a second` : "Start publishing");
  restarts.checked = state.restarts;
};

const showHand = (view: HandView | null): void => {
  const isHeld = view !== null && view.answer === null;
  handTake.disabled = isHeld;
  handAck.disabled = !isHeld;
  setText(hand, view === null ? HAND_HINT : handText(view));
};

const HAND_HINT =
  "The page takes a lease of its own, does not ack, and waits until a member has taken the event over. Then it acks, late, and is refused.";

const handText = ({ place, token, phase, leftMs, answer }: HandView): string => {
  const held = `${place}, token ${token}`;
  if (answer !== null) return `${held}: the ack was ${answer.text}`;
  switch (phase) {
    case "held":
      return `${held}: the lease has ${Math.ceil(leftMs / 1_000)} s left. An ack now is accepted.`;
    case "run out":
      return `${held}: the lease has run out, but nobody has claimed the event since, so an ack would still be accepted. Is a member running?`;
    case "taken over":
    case "answered":
      return `${held}: somebody else has it now, and the ack is on its way.`;
    default:
      return phase satisfies never;
  }
};
