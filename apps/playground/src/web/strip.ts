/** The numbers of the group, and what holds its frontier. */
import type { NumbersView } from "../views.ts";
import { byId, element, setText } from "./element.ts";

const NAMES: readonly (readonly [keyof NumbersView, string])[] = [
  ["published", "published"],
  ["lag", "lag"],
  ["inflight", "in flight"],
  ["retrying", "retrying"],
  ["dead", "dead"],
  ["members", "members"],
];

const cells = new Map<keyof NumbersView, HTMLElement>();

export const showNumbers = (numbers: NumbersView): void => {
  for (const [key, name] of NAMES) {
    const cell = cells.get(key) ?? addCell(key, name);
    setText(cell, numbers[key].toLocaleString("en"));
    cell.classList.toggle("zero", numbers[key] === 0);
  }
};

const addCell = (key: keyof NumbersView, name: string): HTMLElement => {
  const value = element("dd", "");
  value.id = `number-${key}`;
  byId("numbers", HTMLDListElement).append(element("div", `number ${key}`, element("dt", "", name), value));
  cells.set(key, value);
  return value;
};

export const showHolders = (holders: readonly string[]): void => {
  const list = byId("holders", HTMLUListElement);
  const texts = holders.length === 0 ? ["Nothing holds the frontier: every delivery is acked or dead."] : holders;
  const text = texts.join("\n");
  if (list.dataset.text === text) return;
  list.dataset.text = text;
  list.replaceChildren(...texts.map((holder) => element("li", "", holder)));
};
