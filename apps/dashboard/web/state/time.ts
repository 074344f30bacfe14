/** Time as the store has it, as far as the server's clock is the store's: this machine's may be hours off. */
import { signal } from "@preact/signals";

const offsetMs = signal(0);

/** Now by the server's clock, in ms; moves once a second. */
export const now = signal(Date.now());

export const noteServerTime = (atMs: number): void => {
  const offset = atMs - Date.now();
  if (Math.abs(offset - offsetMs.value) > 250) offsetMs.value = offset;
  now.value = Date.now() + offsetMs.value;
};

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + offsetMs.value;
}, 1_000);
