import type { ChildInfo, Supervisor } from "@rheo/runtime";
import type { GaugeName } from "../catalogue/gauges.ts";
import { type LabelSets, type Labels, NO_LABELS } from "../labels.ts";
import { childLabels } from "../supervised.ts";
import type { Reading } from "./reading.ts";

/** What is needed of a supervisor. */
export type Supervised = Pick<Supervisor, "children" | "state">;

/** How the consumers and threads of this process stand. */
export const readApp = (app: Supervised, sets: LabelSets): readonly Reading[] => {
  const sums = new Sums();
  for (const child of app.children()) {
    const { stream, group } = childLabels(child.id);
    const labels = sets.of(stream, group);
    if (child.kind === "group") addGroup(sums, child, labels, sets);
    else if (child.kind === "pool") addPool(sums, child, sets);
    else if (child.kind === "retention" && child.details.leading === true)
      sums.add("heldBack", labels, number(child, "heldBack"));
  }
  return sums.readings();
};

const addGroup = (sums: Sums, child: ChildInfo, labels: Labels, sets: LabelSets): void => {
  sums.add("consumers", sets.with(labels, "state", child.state), 1);
  for (const state of ["unstarted", "running", "unsettled"] as const)
    sums.add("held", sets.with(labels, "state", state), number(child, state));
  sums.add("slots", labels, number(child, "slots"));
  const { breaker } = child.details;
  if (breaker !== undefined) sums.add("breakerOpen", labels, breaker === "closed" ? 0 : 1);
};

const addPool = (sums: Sums, child: ChildInfo, sets: LabelSets): void => {
  for (const state of ["busy", "free"] as const) sums.add("threads", sets.with(NO_LABELS, "state", state), number(child, state));
  const threads = child.children;
  const busy = threads.reduce((sum, thread) => sum + number(thread, "utilization"), 0);
  sums.add("utilization", NO_LABELS, threads.length === 0 ? 0 : busy / threads.length);
};

/** A child that is down has no details. */
const number = ({ details }: ChildInfo, name: string): number => {
  const value = details[name];
  return typeof value === "number" ? value : 0;
};

/** Several consumers of one group in one process add up. */
class Sums {
  readonly #values = new Map<GaugeName, Map<Labels, number>>();

  add(metric: GaugeName, labels: Labels, value: number): void {
    const known = this.#values.get(metric) ?? new Map<Labels, number>();
    this.#values.set(metric, known);
    known.set(labels, (known.get(labels) ?? 0) + value);
  }

  readings(): Reading[] {
    return [...this.#values].flatMap(([metric, values]) => [...values].map(([labels, value]) => ({ metric, labels, value })));
  }
}
