/** What the page asks of the playground. */
import type { Command } from "../command.ts";
import type { StateView } from "../views.ts";
import { byId, setText } from "./element.ts";

/** What the page may send: a mode's parts stand beside its member's name. */
type Sent =
  | Exclude<Command, { readonly type: "mode" }>
  | { readonly type: "mode"; readonly name: string; readonly kind: string; readonly ms?: number };

export const readState = async (after: number): Promise<StateView> => {
  const response = await fetch(`/api/state?after=${after}`);
  if (!response.ok) throw new Error(await reasonOf(response));
  return (await response.json()) as StateView; // it is ours
};

/** Resolves once it is carried out. What was wrong with it is shown, and is false. */
export const send = async (command: Sent): Promise<boolean> => {
  try {
    const response = await fetch("/api/commands", {
      method: "POST",
      headers: { "content-type": "application/json", "x-rheo-playground": "1" },
      body: JSON.stringify(command),
    });
    showStatus(response.ok ? "" : await reasonOf(response));
    return response.ok;
  } catch {
    showStatus("The playground does not answer: was it ended?");
    return false;
  }
};

export const showStatus = (text: string): void => setText(byId("status", HTMLParagraphElement), text);

const reasonOf = async (response: Response): Promise<string> => {
  const { error } = (await response.json().catch(() => ({}))) as { readonly error?: string };
  return error ?? `The playground answered ${response.status}.`;
};
