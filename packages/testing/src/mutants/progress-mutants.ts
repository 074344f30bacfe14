/** Faults in groups, progress, re-opening and inspection. */
import { type Backend, type PartitionProgress, RheoError } from "@rheo/core";
import { groupNotFound } from "@rheo/core/internal";
import { type Mutant, mutant } from "./mutant.ts";

type Highest = Map<string, number>;

const raise = (highest: Highest, name: string, sequence: number): void =>
  void highest.set(name, Math.max(highest.get(name) ?? 0, sequence));

/** The frontier, where it is told as the highest sequence that was seen instead. */
const told = (progress: readonly PartitionProgress[], highest: Highest, group: string): PartitionProgress[] =>
  progress.map((part) => ({
    ...part,
    frontier: Math.max(part.frontier, Math.min(part.highWatermark, highest.get(`${group}/${part.partition}`) ?? 0)),
  }));

const GROUP_METHODS = ["exchange", "replay", "redrive", "deadLetters"] as const;
const NAMED_METHODS = ["getGroup", "updateGroup", "deleteGroup", "reset", "progress", "groupStats", "holders", "leases"] as const;

/** Throws `group_not_found` where the stream is not there either. */
const groupFirst = (inner: Backend): Partial<Backend> => {
  const changes: Record<string, unknown> = {};
  const wrapped =
    (name: string, groupOf: (args: readonly unknown[]) => [string, string]) =>
    async (...args: readonly unknown[]): Promise<unknown> => {
      const [stream, group] = groupOf(args);
      const method = Reflect.get(inner, name) as (...args: readonly unknown[]) => Promise<unknown>; // a method of the port
      return Reflect.apply(method, inner, args).catch((error: unknown) => {
        throw RheoError.is(error, "stream_not_found") ? groupNotFound(stream, group) : error;
      });
    };
  const nameOf = (value: unknown, name: string): string => String(Reflect.get(Object(value), name));
  for (const name of GROUP_METHODS)
    changes[name] = wrapped(name, ([request]) => [nameOf(request, "stream"), nameOf(request, "group")]);
  for (const name of NAMED_METHODS) changes[name] = wrapped(name, ([stream, group]) => [String(stream), String(group)]);
  return changes as Partial<Backend>; // the names above are those of the port
};

export const progressMutants: readonly Mutant[] = [
  mutant("frontier-by-max-acked", "the frontier is the highest sequence that was acked", (inner) => {
    const highest: Highest = new Map();
    return {
      exchange: async (request) => {
        const answer = await inner.exchange(request);
        request.settlements.forEach(({ partition, sequences }, part) => {
          for (const [position, sequence] of sequences.entries()) {
            if (answer.settled[part]?.[position]?.state === "acked")
              raise(highest, `${request.stream}/${request.group}/${partition}`, sequence);
          }
        });
        return answer;
      },
      progress: async (stream, group) => told(await inner.progress(stream, group), highest, `${stream}/${group}`),
    };
  }),
  mutant("leased-counts-as-done", "lag counts what is leased as settled", (inner) => {
    const highest: Highest = new Map();
    return {
      exchange: async (request) => {
        const answer = await inner.exchange(request);
        for (const { partition, events } of answer.grants)
          for (const { sequence } of events) raise(highest, `${request.stream}/${request.group}/${partition}`, sequence);
        return answer;
      },
      progress: async (stream, group) => told(await inner.progress(stream, group), highest, `${stream}/${group}`),
    };
  }),
  mutant("frontier-starts-at-0", "the frontier of a group that starts late is 0 until it settles something", (inner) => ({
    progress: async (stream, group) =>
      (await inner.progress(stream, group)).map((part) =>
        part.frontier === part.highWatermark ? { ...part, frontier: 0 } : part,
      ),
  })),
  mutant("expired-leases-in-flight", "leases that ran out still count as in flight", (inner) => ({
    groupStats: async (stream, group) => ({
      ...(await inner.groupStats(stream, group)),
      inflight: (await inner.leases(stream, group, 10_000)).length,
    }),
  })),
  mutant("group-start-ignored", "every group starts at the earliest event", (inner) => ({
    createGroup: (stream, name, options) => inner.createGroup(stream, name, options, { kind: "earliest" }),
  })),
  mutant("late-start-replays-history", "a start time later than every event means the earliest", (inner) => ({
    createGroup: async (stream, name, options, start) => {
      if (start.kind !== "time") return inner.createGroup(stream, name, options, start);
      const marks = await inner.watermarks(stream);
      const found = await Promise.all(
        marks.map(({ partition }) =>
          inner.read({
            stream,
            partition,
            after: 0,
            until: null,
            order: "asc",
            limit: 10_000,
            maxBytes: Number.MAX_SAFE_INTEGER,
          }),
        ),
      );
      const isLate = found.flat().every(({ timestampMs }) => timestampMs < start.timeMs);
      return inner.createGroup(stream, name, options, isLate ? { kind: "earliest" } : start);
    },
  })),
  mutant("ensure-changes-the-group", "a second creation overwrites the group's options", (inner) => ({
    createGroup: async (stream, name, options, start) => {
      const made = await inner.createGroup(stream, name, options, start);
      return made.created ? made : { ...made, group: await inner.updateGroup(stream, name, { options }) };
    },
  })),
  mutant("group-before-stream", "a missing stream is reported as a missing group", groupFirst),
  mutant(
    "replay-skips-undelivered",
    "a replay moves the group to where it asked, also past what was never delivered",
    (inner) => ({
      replay: async (request) => {
        const { scope } = request;
        if (scope.kind !== "after" || request.partitions !== null) return inner.replay(request);
        const { length } = await inner.watermarks(request.stream);
        return inner.reset(request.stream, request.group, { kind: "after", after: new Array<number>(length).fill(scope.after) });
      },
    }),
  ),
  mutant("replay-ignores-partitions", "a replay of some partitions replays all", (inner) => ({
    replay: (request) => inner.replay({ ...request, partitions: null }),
  })),
  mutant("replay-by-query-replays-all", "a replay of what matches re-opens everything after the first match", (inner) => ({
    replay: (request) =>
      inner.replay(
        request.scope.kind === "query"
          ? { ...request, scope: { ...request.scope, query: { ...request.scope.query, filter: null } } }
          : request,
      ),
  })),
  mutant("replay-inclusive", "a replay from a sequence re-opens that one too", (inner) => ({
    replay: (request) =>
      inner.replay(
        request.scope.kind === "after"
          ? { ...request, scope: { ...request.scope, after: Math.max(0, request.scope.after - 1) } }
          : request,
      ),
  })),
  mutant("reset-ignores-start", "a reset always goes to the earliest event", (inner) => ({
    reset: (stream, group) => inner.reset(stream, group, { kind: "earliest" }),
  })),
  mutant("reset-does-nothing", "a reset is confirmed but not made", (inner) => ({
    reset: async (stream, group) =>
      (await inner.progress(stream, group)).reduce((sum, { highWatermark }) => sum + highWatermark, 0),
  })),
  mutant("redrive-takes-all", "a redrive of some dead letters takes all", (inner) => ({
    redrive: (request) => inner.redrive({ ...request, select: { kind: "all" } }),
  })),
  mutant("purge-redrives", "purged dead letters come back as deliveries", (inner) => ({
    redrive: (request) => inner.redrive({ ...request, purge: false }),
  })),
  mutant("redrive-purges", "redriven dead letters are thrown away", (inner) => ({
    redrive: (request) => inner.redrive({ ...request, purge: true }),
  })),
  mutant("looking-claims", "a look at the leases leases one more", (inner) => ({
    leases: async (stream, group, limit) => {
      await inner.exchange({
        stream,
        group,
        settlements: [],
        fetch: { limit: 1, maxBytes: 1, consumerId: "ghost", leaseMs: null, partitions: null, runLimit: 1 },
      });
      return inner.leases(stream, group, limit);
    },
  })),
  mutant("delete-keeps-progress", "a group that is deleted and created again goes on where it was", (inner) => {
    const deleted = new Set<string>();
    return {
      deleteGroup: async (stream, name) => {
        await inner.getGroup(stream, name);
        const known = !deleted.has(`${stream}/${name}`);
        deleted.add(`${stream}/${name}`);
        return known;
      },
      createGroup: async (stream, name, options, start) => {
        const made = await inner.createGroup(stream, name, options, start);
        return deleted.delete(`${stream}/${name}`) ? { ...made, created: true } : made;
      },
    };
  }),
  mutant("history-of-the-wrong-state", "retrying deliveries are shown as pending", (inner) => ({
    delivery: async (...args) => {
      const found = await inner.delivery(...args);
      return found.state === "retrying" ? { state: "pending", attempt: found.attempt, lastError: found.lastError } : found;
    },
  })),
  mutant("dead-letters-unordered", "dead letters are listed the last first", (inner) => ({
    deadLetters: async (request) => (await inner.deadLetters(request)).reverse(),
  })),
  mutant("progress-shared-by-groups", "an ack for one group counts for the others", (inner) => ({
    exchange: async (request) => {
      const answer = await inner.exchange(request);
      if (!request.settlements.some(({ outcome }) => outcome.kind === "ack")) return answer;
      const groups = await inner.listGroups(request.stream, { after: null, limit: 100 }).catch(() => []);
      for (const { name } of groups) if (name !== request.group) await inner.reset(request.stream, name, { kind: "latest" });
      return answer;
    },
  })),
];
