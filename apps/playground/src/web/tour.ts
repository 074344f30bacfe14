/** The guided tour: its steps, and what each has shown. */
import type { TourSeenView, TourStepView, TourView } from "../views.ts";
import { send } from "./api.ts";
import { byId, element, setText } from "./element.ts";

const next = byId("tour-next", HTMLButtonElement);
const all = byId("tour-all", HTMLButtonElement);
const end = byId("tour-end", HTMLParagraphElement);
const list = byId("steps", HTMLOListElement);
let shown = "";
let toDo = 0;

export const wireTour = (): void => {
  next.addEventListener("click", () => void send({ type: "tour", deed: "next" }));
  all.addEventListener("click", () => void runAll());
  byId("tour-restart", HTMLButtonElement).addEventListener("click", () => void send({ type: "tour", deed: "restart" }));
};

const runAll = async (): Promise<void> => {
  for (let left = toDo; left > 0; left -= 1) if (!(await send({ type: "tour", deed: "next" }))) return;
};

export const showTour = ({ round, steps, done, ok }: TourView): void => {
  const version = `${round}.${done}`;
  if (version === shown) return;
  shown = version;
  toDo = steps.length - done;
  const isOver = toDo === 0 || !ok;
  next.disabled = isOver;
  all.disabled = isOver;
  list.replaceChildren(...steps.map((step, at) => stepItem(step, at === done && ok)));
  setText(
    end,
    isOver ? (ok ? `All ${steps.length} steps were as expected.` : "A step was not as expected, so the tour ends here.") : "",
  );
};

const stepItem = ({ title, expect, seen }: TourStepView, isNext: boolean): HTMLLIElement => {
  const item = element("li", seen === null ? (isNext ? "next" : "ahead") : seen.ok ? "ok" : "failed");
  item.append(element("h3", "", title), element("p", "expect", expect));
  if (seen !== null) item.append(...seenParts(seen));
  return item;
};

const seenParts = ({ detail, checks, numbers }: TourSeenView): readonly Node[] => {
  const { seconds, lag, inflight, frontier } = numbers;
  const marks = checks.map(({ what, ok }) => element("li", ok ? "ok" : "failed", ok ? "✔ " : "✘ ", what));
  return [
    element("p", "detail", detail),
    element("ul", "checks", ...marks),
    element("p", "after", `clock +${seconds} s · lag ${lag} · in flight ${inflight} · frontier ${frontier}`),
  ];
};
