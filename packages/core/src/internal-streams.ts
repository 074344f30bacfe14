/**
 * Streams that Rheo keeps for itself in the store of its user's, so that what is built on streams, groups and leases works on every
 * backend. Their names begin with an underscore, as no name of a user's does (L9), and no listing shows them.
 */
import type { Backend, NamePage, StreamRecord } from "./backend.ts";
import { LIMITS } from "./limits.ts";

const PREFIX = "_";
/** Not a character of names, so that two pairs of names never meet. */
const SEPARATOR = "~";

/** The stream by which the members of a group share out the partitions of its stream. */
export const assignmentStream = (stream: string, group: string): string =>
  `${PREFIX}assignment${SEPARATOR}${stream}${SEPARATOR}${group}`;

/** The stream by which those who could maintain a stream agree on one. */
export const retentionStream = (stream: string): string => `${PREFIX}retention${SEPARATOR}${stream}`;

/** As the port lists streams, without those that are not a user's. */
export const listUserStreams = async (backend: Backend, { after, limit }: NamePage): Promise<StreamRecord[]> => {
  const found: StreamRecord[] = [];
  for (let from = after; ; ) {
    const asked = limit - found.length;
    const page = await backend.listStreams({ after: from, limit: asked });
    found.push(...page.filter(({ name }) => !name.startsWith(PREFIX)));
    const last = page.at(-1)?.name;
    if (last === undefined || page.length < asked || found.length === limit) return found;
    from = last.startsWith(PREFIX) ? `${PREFIX}${SEPARATOR}` : last; // past all of them at once
  }
};

/** The names of the groups of a stream. */
export const groupNames = async (backend: Backend, stream: string): Promise<string[]> => {
  const names: string[] = [];
  for (let after: string | null = null; ; ) {
    const page = await backend.listGroups(stream, { after, limit: LIMITS.pageSize });
    names.push(...page.map(({ name }) => name));
    after = page.at(-1)?.name ?? null;
    if (page.length < LIMITS.pageSize || after === null) return names;
  }
};
