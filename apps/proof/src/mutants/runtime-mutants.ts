/** Faults in the runtime: groups, threads, processes, assignment, retention. */
import type { Killer, SourceMutant } from "./mutant.ts";

const RUNTIME = "packages/runtime/dist";
const TESTS = "packages/runtime/test";

const simulation = (seeds: number): Killer => ({ by: "simulation", seeds });
const test = (file: string, title: string): Killer => ({ by: "test", file: `${TESTS}/${file}.test.ts`, test: title });

/** A test of this app, for what no other noticed. */
const gap = (title: string): Killer => ({ by: "test", file: "apps/proof/test/gaps.test.ts", test: title });

export const runtimeMutants: readonly SourceMutant[] = [
  // Groups
  {
    name: "wake-up-lost-during-a-fetch",
    fault: "a wake-up that comes while a fetch is under way is forgotten",
    file: `${RUNTIME}/group/transition.js`,
    find: `const woken = state.woken || state.wait !== "poll" || state.exchange !== null;`,
    replace: `const woken = state.woken;`,
    killer: test("transition", "a wake-up during a fetch is answered by another fetch"),
  },
  {
    name: "poll-not-armed-again",
    fault: "after an empty fetch nobody looks again",
    file: `${RUNTIME}/group/transition.js`,
    find: `[{ type: "arm", timer: "poll", delayMs, jitter: POLL_JITTER }]`,
    replace: `[]`,
    killer: simulation(60),
  },
  {
    name: "idle-for-ever",
    fault: "a group that was idle for long polls rarely for ever, whatever comes",
    file: `${RUNTIME}/group/transition.js`,
    find: `idleSinceMs: granted + settled > 0 || state.woken ? null : state.idleSinceMs,`,
    replace: `idleSinceMs: state.idleSinceMs,`,
    killer: test("transition", "as often as at first again, after a delivery, a settlement or a wake-up"),
  },
  {
    name: "no-back-off",
    fault: "a failed exchange is repeated at once",
    file: `${RUNTIME}/group/transition.js`,
    find: `failures, wait: "backoff" }`,
    replace: `failures, wait: "none" }`,
    killer: test("transition", "B136 neither wake-ups nor completions shorten a back-off"),
  },
  {
    name: "drain-forgets-the-unstarted",
    fault: "what a draining group has not begun is neither begun nor given back",
    file: `${RUNTIME}/group/transition.js`,
    find: `if (state.phase !== "running" && state.unstarted + state.running > 0)`,
    replace: `if (state.phase === "paused" && state.unstarted + state.running > 0)`,
    killer: test("transition", "whatever the order of events"),
  },
  {
    name: "pause-before-ready-forgotten",
    fault: "a pause that comes before the group is ready is dropped",
    file: `${RUNTIME}/group/transition.js`,
    find: `return [{ ...state, pauseAsked: true }, []];`,
    replace: `return [state, []];`,
    killer: test("transition", "a pause before the group is ready is kept"),
  },
  {
    name: "work-taken-while-renewals-fail",
    fault: "a group whose renewals fail goes on fetching",
    file: `${RUNTIME}/group/transition.js`,
    find: `state.renewFailures > 0 || !state.hasPartitions`,
    replace: `!state.hasPartitions`,
    killer: test("transition", "B43 nothing new is taken while renewals fail"),
  },
  {
    name: "interrupted-handler-charged",
    fault: "a handler that was told to end is charged for failing at it",
    file: `${RUNTIME}/group/ledger.js`,
    find: `state === INTERRUPTED ? RELEASE : outcome`,
    replace: `outcome`,
    killer: test("ledger", "an interrupted handler's ack counts; its failure is a release"),
  },
  {
    name: "lost-lease-settled",
    fault: "the outcome of a handler whose lease was lost is sent to the store",
    file: `${RUNTIME}/group/ledger.js`,
    find: `batch.states[index] = LOST;`,
    replace: `batch.states[index] = RUNNING;`,
    killer: gap("the outcome of a handler whose lease was lost is dropped"),
  },
  {
    name: "given-back-behind-the-queue",
    fault: "what was given back is handed out after all that was fetched later",
    file: `${RUNTIME}/group/ledger.js`,
    find: `this.#queue.unshift(batch);`,
    replace: `this.#queue.push(batch);`,
    killer: test("ledger", "what was given back is handed out again, first"),
  },
  {
    name: "unknown-ack-repeated-as-nack",
    fault: "an ack whose answer was lost is repeated as a failure",
    file: `${RUNTIME}/group/settler.js`,
    find: `this.#unanswered = settling;`,
    replace: `this.#unanswered = settling.map((one) => ({ ...one, settlement: { ...one.settlement, outcome: { kind: "retry", delayMs: 0, reason: "no answer", stack: null } } }));`,
    killer: gap("what was sent once is never contradicted"),
  },
  {
    name: "renewal-timer-not-armed-again",
    fault: "leases are renewed once",
    file: `${RUNTIME}/group/renewer.js`,
    find: `this.#arm(this.#intervalMs());
        this.#host.interval();`,
    replace: `this.#host.interval();`,
    killer: test("inline", "B21 leases are renewed while a handler waits"),
  },
  {
    name: "lease-counted-from-the-answer",
    fault: "the local deadline counts from when a renewal was answered, not from when it was asked",
    file: `${RUNTIME}/group/renewer.js`,
    find: `Math.max(batch.deadlineMs, startedAtMs + this.#host.leaseMs())`,
    replace: `Math.max(batch.deadlineMs, this.#monotonic() + this.#host.leaseMs())`,
    killer: gap("a lease is counted from when its renewal was asked"),
  },
  {
    name: "expired-leases-kept-while-renewals-fail",
    fault: "handlers go on after their leases have surely run out",
    file: `${RUNTIME}/group/renewer.js`,
    find: `if (nowMs < batch.deadlineMs)
                continue;`,
    replace: `if (nowMs < batch.deadlineMs || lost >= 0)
                continue;`,
    killer: test("inline", "B43 when only renewals fail"),
  },
  {
    name: "suspects-are-guilty",
    fault: "when a thread dies all that ran on it are charged",
    file: `${RUNTIME}/group/blame.js`,
    find: `accused.length === 1 ? verdict`,
    replace: `accused.length >= 1 ? verdict`,
    killer: test("blame", "by itself, several are suspects, and nobody is charged"),
  },
  {
    name: "batch-waits-once",
    fault: "after its first wait a batch handler is woken for no other batch that is not full",
    file: `${RUNTIME}/group/batcher.js`,
    find: `this.#timer = null;
            this.#onDue();`,
    replace: `this.#onDue();`,
    killer: gap("each batch that is not full waits its own time"),
  },
  {
    name: "breaker-never-closes",
    fault: "the ack of a probe does not close the breaker",
    file: `${RUNTIME}/group/breaker.js`,
    find: `return isProbe ? CLOSED : breaker;`,
    replace: `return breaker;`,
    killer: test("breaker", "after the ack of a probe the next waits begin anew"),
  },
  {
    name: "probe-known-by-its-fetch",
    fault: "a probe that was fetched before the breaker opened is not known as one, and no other is let through",
    file: `${RUNTIME}/group/admission.js`,
    find: `this.#breaker.phase === "half_open")
            this.#probe ??=`,
    replace: `this.#breaker.phase === "half_open" && first.batch.fetchedAtMs > this.#breaker.openedAtMs)
            this.#probe ??=`,
    killer: test("breaker", "takes for its probe what was fetched before it opened"),
  },
  {
    name: "bucket-overflows",
    fault: "after a pause a rate limit lets through all that had been saved up",
    file: `${RUNTIME}/group/token-bucket.js`,
    find: `tokens: Math.min(events, tokens + ((nowMs - atMs) * events) / perMs)`,
    replace: `tokens: tokens + ((nowMs - atMs) * events) / perMs`,
    killer: test("rate", "is full at first, fills by the time that passes, and never beyond"),
  },
  {
    name: "overdue-leases-do-not-shrink-the-demand",
    fault: "a group whose leases wait too long for a slot goes on fetching as many",
    file: `${RUNTIME}/group/transition.js`,
    find: `overdue && count > 0 ? { ...next, demand: onOverdue(state.demand) } : next`,
    replace: `next`,
    killer: test("transition", "leases that waited too long halve the demand"),
  },
  {
    name: "rejected-probe-says-nothing",
    fault: "after a probe that was rejected no other is let through",
    file: `${RUNTIME}/group/admission.js`,
    find: `if (this.#isProbe(batch, index))
            this.#endProbe();`,
    replace: `if (!this.#isProbe(batch, index))
            this.#endProbe();`,
    killer: gap("a probe that is rejected makes way for another"),
  },
  {
    name: "first-crash-waits",
    fault: "a first crash waits by the retry policy",
    file: `${RUNTIME}/group/thread-death.js`,
    find: `delayMs: batch.attempt === 1 ? 0 : null,`,
    replace: `delayMs: null,`,
    killer: gap("what crashed its thread comes again at once, however long retries wait"),
  },
  // Sharing out
  {
    name: "one-partition-too-many",
    fault: "one member more than the rest says takes an extra partition",
    file: `${RUNTIME}/assignment/share.js`,
    find: `most.indexOf(self) < rest`,
    replace: `most.indexOf(self) <= rest`,
    killer: test("assignment", "of all members together is every partition, and they differ by one at most"),
  },
  {
    name: "suspect-passes-for-the-probe",
    fault:
      "what is suspected of a thread's death while the breaker is open is tried as its probe, whose outcome then counts for nothing",
    file: `${RUNTIME}/group/threaded.js`,
    find: `isClosed === false ? [[], suspects]`,
    replace: `isClosed === false ? [suspects, []]`,
    killer: test("breaker", "what a dead thread leaves under suspicion while it is open goes back"),
  },
  {
    name: "partition-kept-past-its-lease",
    fault: "a member fetches from partitions whose lease has run out",
    file: `${RUNTIME}/assignment/assignment.js`,
    find: `revokedAtMs === null && nowMs < deadlineMs`,
    replace: `revokedAtMs === null`,
    killer: gap("partitions whose renewal hangs are not fetched from after their lease"),
  },
  {
    name: "partition-moved-from-under-a-handler",
    fault: "a partition that is to move is given up while events of it are in hand",
    file: `${RUNTIME}/assignment/assignment.js`,
    find: `(revokedAtMs <= dueMs || this.#host.isFree(partition))`,
    replace: `(revokedAtMs >= dueMs || this.#host.isFree(partition))`,
    killer: test("assignment", "that are to move are not fetched from any more"),
  },
  {
    name: "fetch-under-way-forgotten",
    fault: "a partition is free although a fetch under way may bring events of it",
    file: `${RUNTIME}/group/settler.js`,
    find: `return this.#asked?.includes(partition) ?? true;`,
    replace: `return false;`,
    killer: test("assignment", "that were given up while a fetch was under way"),
  },
  {
    name: "suspicion-on-partitions",
    fault: "partitions of dead members are given out one by one, as if their holders had died of them",
    file: `${RUNTIME}/claims/claim-store.js`,
    find: `attempt > 1 && !cleared.has(sequence)`,
    replace: `attempt > RESET_AT && !cleared.has(sequence)`,
    killer: test("claims", "whoever comes after members that died"),
  },
  // Retention
  {
    name: "retention-passes-the-archive",
    fault: "one event more is removed than was archived",
    file: `${RUNTIME}/retention/sweep.js`,
    find: `{ kind: "sequence", before: at }, [partition]`,
    replace: `{ kind: "sequence", before: at + 1 }, [partition]`,
    killer: test("retention", "is given every event before it goes, in chunks without gaps"),
  },
  {
    name: "archive-told-of-too-much",
    fault: "the archive is given events that are not due",
    file: `${RUNTIME}/retention/sweep.js`,
    find: `const last = firstSequence + due - 1;`,
    replace: `const last = firstSequence + due;`,
    killer: test("retention", "is given every event before it goes, in chunks without gaps"),
  },
  // Supervision
  {
    name: "gives-up-one-restart-early",
    fault: "as many restarts as are allowed are one too many",
    file: `${RUNTIME}/supervisor/restart.js`,
    find: `if (recent.length > policy.maxRestarts)`,
    replace: `if (recent.length >= policy.maxRestarts)`,
    killer: test("restart", "one failure more than the intensity within the period escalates"),
  },
  {
    name: "failures-never-forgotten",
    fault: "a crash a day adds up until the supervisor gives up",
    file: `${RUNTIME}/supervisor/restart.js`,
    find: `nowMs - atMs < policy.withinMs`,
    replace: `nowMs - atMs >= 0`,
    killer: test("restart", "B45 one crash a day for 20 days"),
  },
  {
    name: "restart-due-in-a-drain",
    fault: "a restart that was due when a drain began starts a process in it",
    file: `${RUNTIME}/process/transition.js`,
    find: `({ ...place, restartAtMs: null, askedAtMs: null })),
    };
    const [next, effects] = inTurn(draining`,
    replace: `({ ...place, askedAtMs: null })),
    };
    const [next, effects] = inTurn(draining`,
    killer: test("process-transition", "starts nothing any more, whatever was due"),
  },
  {
    name: "sleep-of-the-parent-kills",
    fault: "a parent that was stopped takes its children's silence for a hang",
    file: `${RUNTIME}/process/transition.js`,
    find: `gapMs > SLEPT_BEATS * beatMs ? postponed`,
    replace: `gapMs < 0 ? postponed`,
    killer: test("process-transition", "a parent that was stopped itself kills nobody"),
  },
];
