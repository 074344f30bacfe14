/** What a child of a supervisor is for, by its id. */
export interface ChildLabels {
  readonly kind: "pool" | "group" | "retention";
  /** Empty for the pool. */
  readonly stream: string;
  /** Empty but for a group. */
  readonly group: string;
}

const RETENTION = "retention:";

/** Of "pool", "retention:stream", "stream/group", or "stream/group#2" where there are several. */
export const childLabels = (id: string): ChildLabels => {
  if (id.startsWith(RETENTION)) return { kind: "retention", stream: id.slice(RETENTION.length), group: "" };
  const [name = ""] = id.split("#", 1);
  const slash = name.indexOf("/");
  if (slash < 0) return { kind: "pool", stream: "", group: "" };
  return { kind: "group", stream: name.slice(0, slash), group: name.slice(slash + 1) };
};
