/**
 * Exchange on a Cluster, where a script works on one partition. Settlements go to their partitions, all partitions are looked at, then the
 * member is given deliveries of one after another, each time told what it and the group have elsewhere. So two fetches at the same moment may
 * together pass `maxInflight`, and two under one name may both take their member for idle (T5); everything else is as on a single server.
 */
import type { ExchangeAnswer, ExchangeRequest, FetchRequest, Grant, Ordering, Settlement, SettleResult } from "@rheo/core";
import { RheoError } from "@rheo/core";
import { LIMITS, progress, streamNotFound } from "@rheo/core/internal";
import { type Elsewhere, type Exchanged, exchangeArguments, type Fetched, toExchanged } from "./exchanged.ts";
import { DELIVERIES } from "./program.ts";
import { toResults } from "./settle.ts";
import { checkGroup, type Part, type Shards } from "./shards.ts";

/** @throws stream_not_found, group_not_found - only where something was to be fetched */
export const exchangeOnCluster = async (
  shards: Shards,
  request: ExchangeRequest,
  before: Readonly<progress.Turn>,
): Promise<Exchanged> => {
  const { stream, group, settlements, fetch } = request;
  const parts = await settleAndLook(shards, request);
  if (fetch !== null && parts.length === 0) throw streamNotFound(stream);
  if (fetch !== null) checkGroup(parts, stream, group);
  const { settled, ordering } = settledBy(settlements, parts);
  if (fetch === null) return { answer: { settled, grants: [], more: false, died: [] }, ordering, turn: before };
  const { answer, turn } = await new ClusterFetch(shards, request, fetch, await surveyed(shards, group, parts)).run(before);
  return { answer: { ...answer, settled }, ordering, turn };
};

/** Each partition's settlements in one call, and a look at each partition if there is something to fetch. None: no such stream. */
const settleAndLook = async (shards: Shards, request: ExchangeRequest): Promise<readonly Part[]> => {
  const { stream, group, settlements, fetch } = request;
  const first = progress.newTurn();
  try {
    const { partitions: count } = await shards.streams.find(stream);
    const asked = new Set(settlements.map(({ partition }) => partition));
    const all = Array.from({ length: count }, (_, partition) => partition);
    const settling = all.filter((partition) => asked.has(partition)).map((partition) => [partition]);
    const looking = fetch === null ? [] : all.filter((partition) => !asked.has(partition)).map((partition) => [partition]);
    const [settled, looked] = await Promise.all([
      shards.each(DELIVERIES.exchange, stream, group, settling, ([partition = 0]) => {
        const mine = settlements.filter((one) => one.partition === partition);
        const args = exchangeArguments({ ...request, settlements: mine, fetch: null }, [partition], first, count);
        return fetch === null
          ? args
          : args
              .with(1, "look")
              .with(3, fetch.consumerId)
              .with(4, fetch.leaseMs ?? "");
      }),
      shards.each(DELIVERIES.survey, stream, group, looking, () => [fetch?.consumerId ?? "", fetch?.leaseMs ?? ""]),
    ]);
    return [...settled, ...looked].sort((a, b) => (a.partitions[0] ?? 0) - (b.partitions[0] ?? 0));
  } catch (error) {
    if (RheoError.is(error, "stream_not_found")) return [];
    throw error;
  }
};

/** `gone` where the stream, the group or the partition is. */
const settledBy = (
  settlements: readonly Settlement[],
  parts: readonly Part[],
): { settled: (readonly SettleResult[])[]; ordering: Ordering } => {
  const settled: (readonly SettleResult[])[] = progress.allGone(settlements);
  let ordering: Ordering = "none";
  for (const part of parts) {
    const places = settlements.flatMap(({ partition }, place) => (partition === part.partitions[0] ? [place] : []));
    if (part.answer[0] !== "ok" || places.length === 0) continue;
    const [, , order, codes] = part.answer;
    ordering = order as Ordering; // our own script wrote it
    for (const [at, place] of places.entries()) {
      const settlement = settlements[place];
      if (settlement !== undefined) settled[place] = toResults(settlement, String((codes as unknown[])[at])); // the script's list
    }
  }
  return { settled, ordering };
};

/** What a look at one partition found. */
interface Look {
  readonly partition: number;
  readonly backlog: boolean;
  readonly due: boolean;
  readonly expired: boolean;
  readonly exceptions: boolean;
  readonly inflight: number;
  readonly alone: boolean;
  readonly held: number;
  readonly searching: boolean;
  readonly sinceMs: number | null;
  /** The member has a last attempt there, and is given nothing else. */
  readonly isReserved: boolean;
}

interface Surveyed {
  readonly looks: readonly Look[];
  readonly isPaused: boolean;
  readonly attempts: number;
  readonly maxInflight: number;
}

/** What looks at all partitions come to. Options that were not changed everywhere are, for the next one. */
const surveyed = async (shards: Shards, group: string, parts: readonly Part[]): Promise<Surveyed> => {
  const looks = parts.map(({ answer }) => (answer.length === 2 ? answer[1] : answer[11]) as readonly unknown[]); // see SURVEY_AT
  const [version, paused, attempts, inflight] = looks[0] ?? [];
  const late = parts.filter((_, at) => Number(looks[at]?.[0]) < Number(version));
  await Promise.all(late.map((part) => shards.follow(part.stream, group, part.partitions[0] ?? 0)));
  return {
    looks: parts.map(({ partitions }, at) => toLook(partitions[0] ?? 0, looks[at] ?? [])),
    isPaused: paused === 1,
    attempts: Number(attempts),
    maxInflight: inflight === "" ? LIMITS.inflightPerPartition * parts.length : Number(inflight),
  };
};

/** See `SURVEY_AT`. */
const toLook = (partition: number, look: readonly unknown[]): Look => {
  const [backlog, due, expired, exceptions, inflight, alone, held, searching, since, reserved] = look.slice(4);
  return {
    partition,
    backlog: backlog === 1,
    due: due === 1,
    expired: expired === 1,
    exceptions: exceptions === 1,
    inflight: Number(inflight),
    alone: Number(alone) > 0,
    held: Number(held),
    searching: searching === 1,
    sinceMs: since === "-" ? null : Number(since),
    isReserved: reserved === 1,
  };
};

/** One fetch under way: the twin of `claim` in core's progress, over calls. */
class ClusterFetch {
  readonly #shards: Shards;
  readonly #request: ExchangeRequest;
  readonly #fetch: FetchRequest;
  readonly #surveyed: Surveyed;
  readonly #parts: Fetched[] = [];
  /** By partition. */
  readonly #tokens = new Map<number, number>();
  #left: number;
  #bytesLeft: number;
  #granted = 0;
  #suspects = 0;
  #isClosed = false;

  constructor(shards: Shards, request: ExchangeRequest, fetch: FetchRequest, surveyed: Surveyed) {
    this.#shards = shards;
    this.#request = { ...request, settlements: [] };
    this.#fetch = fetch;
    this.#surveyed = surveyed;
    const inflight = surveyed.looks.reduce((sum, look) => sum + look.inflight, 0);
    this.#left = Math.min(fetch.limit, surveyed.maxInflight - inflight);
    this.#bytesLeft = fetch.maxBytes;
  }

  async run(before: Readonly<progress.Turn>): Promise<{ answer: ExchangeAnswer; turn: Readonly<progress.Turn> }> {
    const { looks, isPaused } = this.#surveyed;
    const wanted = looks.filter(({ partition }) => this.#fetch.partitions?.includes(partition) ?? true);
    const candidates = wanted.filter((look) => look.backlog || look.due || look.expired || look.exceptions);
    const turn = { ...before };
    if (!isPaused && candidates.length > 0 && this.#isOpen && !looks.some(({ isReserved }) => isReserved)) {
      const visit = progress.nextVisit(candidates, turn, looks.length);
      const reserved = visit.reserveHalf ? Math.ceil(this.#left / 2) : 0;
      for (const look of visit.candidates) if (this.#isOpen) await this.#visit(look, reserved);
      if (reserved > 0) for (const look of visit.candidates) if (this.#isOpen) await this.#visit(look, 0);
    }
    await this.#noteAlone();
    const answers = this.#parts.map(({ answer }) => answer);
    return {
      answer: {
        settled: [],
        grants: merged(answers.flatMap(({ grants }) => grants)),
        more: answers.some(({ more }) => more),
        died: answers.flatMap(({ died }) => died),
      },
      turn,
    };
  }

  get #isOpen(): boolean {
    return this.#left > 0 && this.#bytesLeft > 0 && !this.#isClosed;
  }

  async #visit(look: Look, reserved: number): Promise<void> {
    const { stream, group } = this.#request;
    const { partition } = look;
    const fetch = { ...this.#fetch, limit: this.#left, maxBytes: this.#bytesLeft, partitions: null };
    const request = { ...this.#request, fetch };
    const turn = progress.newTurn();
    const elsewhere = this.#elsewhere(look, reserved);
    const part = await this.#shards.one(
      DELIVERIES.exchange,
      stream,
      partition,
      group,
      exchangeArguments(request, [partition], turn, this.#surveyed.looks.length, elsewhere),
    );
    checkGroup([part], stream, group);
    const fetched = toExchanged(request, part);
    this.#parts.push(fetched);
    for (const { token } of fetched.answer.grants) this.#tokens.set(partition, token);
    const events = fetched.answer.grants.flatMap((grant) => grant.events);
    this.#left -= events.length;
    this.#granted += events.length;
    for (const event of events) this.#bytesLeft -= sizeOf(event);
    this.#suspects += fetched.suspects;
    this.#isClosed = fetched.isClosed;
  }

  /** What the group and the member have in other partitions, as of the survey. */
  #elsewhere({ partition }: Look, reserved: number): Elsewhere {
    const others = this.#surveyed.looks.filter((look) => look.partition !== partition);
    const since = others.flatMap(({ sinceMs }) => sinceMs ?? []);
    return {
      inflight: others.reduce((sum, look) => sum + look.inflight, 0),
      alone: others.some(({ alone }) => alone),
      held: others.reduce((sum, look) => sum + look.held, 0),
      searching: this.#suspects > 0 || others.some(({ searching }) => searching),
      sinceMs: since.length === 0 ? null : Math.max(...since),
      granted: this.#granted,
      token: this.#tokens.get(partition) ?? -1,
      reserved,
    };
  }

  /** Unmarks what was alone, now that its member has more; marks what is all that its member has, where that is going to matter. */
  async #noteAlone(): Promise<void> {
    if (this.#granted === 0) return;
    const { stream, group } = this.#request;
    const { looks, attempts } = this.#surveyed;
    const given = new Set(this.#parts.flatMap(({ answer }) => answer.grants.map((grant) => grant.partition)));
    const alone = looks.filter((look) => look.alone && !given.has(look.partition)).map((look) => [look.partition]);
    if (alone.length > 0) await this.#shards.each(DELIVERIES.clearAlone, stream, group, alone, () => [this.#fetch.consumerId, 1]);
    const [only] = this.#parts.flatMap(({ answer }) => answer.grants);
    const held = looks.reduce((sum, look) => sum + look.held, 0);
    if (only === undefined || this.#granted !== 1 || only.attempt < attempts - 1 || held > 0) return;
    await this.#shards.one(DELIVERIES.markAlone, stream, only.partition, group, [only.token, only.events[0]?.sequence ?? 0]);
  }
}

/** A partition that was visited twice has one grant of each attempt. */
const merged = (grants: readonly Grant[]): Grant[] => {
  const byName = new Map<string, Grant>();
  for (const grant of grants) {
    const name = `${grant.partition}/${grant.token}/${grant.attempt}`;
    const known = byName.get(name);
    const events =
      known === undefined ? grant.events : [...known.events, ...grant.events].sort((a, b) => a.sequence - b.sequence);
    byName.set(name, { ...(known ?? grant), events });
  }
  return [...byName.values()];
};

/** UTF-8 bytes of an event as scripts count them. */
const sizeOf = ({ id, type, key, metadata, payload }: ExchangeAnswer["grants"][number]["events"][number]): number =>
  Buffer.byteLength(id) +
  Buffer.byteLength(type ?? "") +
  Buffer.byteLength(key ?? "") +
  Buffer.byteLength(metadata) +
  Buffer.byteLength(payload);
