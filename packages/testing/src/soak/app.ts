/** What the harness of a soak and its processes agree on. */
export const GROUPS = { threaded: "threaded", keyed: "keyed" } as const;
export const PARTITIONS = 4;
export const LEASE_MS = 1_500;
/** A silence of this length makes a parent replace a child: some stops and blocks are shorter than that and longer than a lease. */
export const HANG_MS = 4_000;
export const DRAIN_MS = 2_000;

/**
 * What an event asks its handlers to do. `exit`, `throwInTimer` and `spin` are for handlers in threads; on others they do nothing.
 */
export type Action = "ack" | "wait" | "exit" | "throwInTimer" | "spin" | "retry" | "reject";

export interface SoakPayload {
  readonly do: Action;
}

export interface SoakEnvironment {
  readonly url: string;
  /** Where everything is written down. */
  readonly folder: string;
  readonly stream: string;
  /** What the process appends by itself, since nobody else may open its store; null: nothing. */
  readonly inside: { readonly seed: number; readonly perSecond: number; readonly mayEndThreads: boolean } | null;
}

/** How it gets to the processes. */
export const asEnvironment = ({ url, folder, stream, inside }: SoakEnvironment): Record<string, string> => ({
  RHEO_SOAK_URL: url,
  RHEO_SOAK_FOLDER: folder,
  RHEO_SOAK_STREAM: stream,
  RHEO_SOAK_INSIDE: JSON.stringify(inside),
});

export const soakEnvironment = (): SoakEnvironment => ({
  url: process.env.RHEO_SOAK_URL ?? "",
  folder: process.env.RHEO_SOAK_FOLDER ?? "",
  stream: process.env.RHEO_SOAK_STREAM ?? "",
  inside: JSON.parse(process.env.RHEO_SOAK_INSIDE ?? "null") as SoakEnvironment["inside"], // written by the function above
});
