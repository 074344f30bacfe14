import { breathe } from "./breathe.ts";

/** Calls to the store at the same time: enough to hide its latency, few enough not to crowd its other users out. */
const AT_ONCE = 8;

/** The answer for each item, in order, with at most a few calls at a time. */
export const forEachAtOnce = async <Item, Answer>(
  items: readonly Item[],
  call: (item: Item) => Promise<Answer>,
): Promise<Answer[]> => {
  const answers: Answer[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    await breathe();
    answers.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(call))));
  }
  return answers;
};
