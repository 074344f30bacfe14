/** Asking the server. Paths are relative to the page, wherever that is mounted. */
import { signal } from "@preact/signals";
import type { Problem } from "../../src/http/problem.ts";

export type { Problem };
export type Query = Readonly<Record<string, string | number | null>>;

/** The server wants a token that this browser has not shown. */
export const isLocked = signal(false);

export const apiUrl = (view: string, query: Query): string => {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== "") params.set(name, String(value));
  return `api/${view}?${params}`;
};

export type Answer<View> = { readonly view: View; readonly problem: null } | { readonly view: null; readonly problem: Problem };

/** Reads a view once. Never rejects, but when aborted. */
export const ask = async <View>(view: string, query: Query, signal: AbortSignal): Promise<Answer<View>> => {
  try {
    const response = await fetch(apiUrl(view, query), { signal, headers: { accept: "application/json" } });
    const body = (await response.json()) as unknown;
    if (response.ok) return { view: body as View, problem: null }; // the server's own types
    const { error } = body as { readonly error: Problem };
    if (error.code === "unauthorized") isLocked.value = true;
    return { view: null, problem: error };
  } catch (cause) {
    signal.throwIfAborted();
    return {
      view: null,
      problem: { code: "unavailable", message: `The dashboard's server does not answer (${String(cause)}).` },
    };
  }
};

/** Shows the token once; the browser then has a cookie that no script can read. */
export const signIn = async (token: string): Promise<boolean> => {
  const response = await fetch("api/session", { headers: { authorization: `Bearer ${token}` } });
  if (response.ok) isLocked.value = false;
  return response.ok;
};

export const signOut = async (): Promise<void> => {
  await fetch("api/session?end=1", { headers: { "x-rheo-dashboard": "1" } });
  isLocked.value = true;
};
