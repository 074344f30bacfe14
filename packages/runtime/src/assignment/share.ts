/** How partitions are shared out: pure. Every member computes it for itself from what the store says, and comes to the same. */

export interface ShareRequest {
  /** Of the stream. */
  readonly partitions: number;
  /** Names of the members that take part, in any order. */
  readonly members: readonly string[];
  /** Partitions that each holds, by name; absent: none. */
  readonly held: ReadonlyMap<string, number>;
  readonly self: string;
}

/**
 * How many partitions a member is to hold: the same for all, and one more for as many as there is a rest. Those that hold most
 * come first, so that nothing moves that need not. 0 for one that does not take part.
 */
export const shareOf = ({ partitions, members, held, self }: ShareRequest): number => {
  if (!members.includes(self)) return 0;
  const most = [...members].sort((a, b) => (held.get(b) ?? 0) - (held.get(a) ?? 0) || compare(a, b));
  const rest = partitions % members.length;
  return Math.floor(partitions / members.length) + (most.indexOf(self) < rest ? 1 : 0);
};

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
