import { useEffect, useState } from "preact/hooks";
import { ask, type Query } from "./api.ts";
import type { Watched } from "./live.ts";

export interface Asked<View> extends Watched<View> {
  readonly isAsking: boolean;
  readonly again: () => void;
}

const NOTHING = { view: null, problem: null };

/** A view read once, and again when asked for something else or told to; null for nothing. What was read before stays until then. */
export const useOnce = <View>(name: string, query: Query | null): Asked<View> => {
  const [state, setState] = useState<Watched<View>>(NOTHING);
  const [isAsking, setIsAsking] = useState(query !== null);
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([name, query, turn]);
  useEffect(() => {
    if (query === null) return;
    const asking = new AbortController();
    setIsAsking(true);
    ask<View>(name, query, asking.signal).then(
      (answer) => {
        setState(answer.problem === null ? answer : (before) => ({ ...before, problem: answer.problem }));
        setIsAsking(false);
      },
      () => undefined, // aborted: something else is asked for
    );
    return () => asking.abort();
  }, [key]);
  return { ...state, isAsking, again: () => setTurn(turn + 1) };
};
