import type { RheoEventOf, RheoEvents, RheoEventType } from "@rheo/core";

/** A listener for each of some types of events. */
export type Listeners = { readonly [Type in RheoEventType]?: (event: RheoEventOf<Type>) => void };

/** Listens to several types; the answer ends it. A listener that throws harms nobody: it becomes a process warning. */
export const listen = (events: RheoEvents, listeners: Listeners): (() => void) => {
  const pairs = Object.entries(listeners) as [RheoEventType, (event: unknown) => void][]; // a listener gets the events of its type
  for (const [type, listener] of pairs) events.on(type, listener);
  return () => {
    for (const [type, listener] of pairs) events.off(type, listener);
  };
};
