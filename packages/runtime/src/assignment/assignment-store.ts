/**
 * How assignment is kept in the store. What is claimed are the partitions of the stream, and seats: whoever takes part holds one, and
 * so the members are known.
 */
import { type Backend, RheoError, type StaleReason } from "@rheo/core";
import { assignmentStream } from "@rheo/core/internal";
import { type Claim, ClaimStore } from "../claims/claim-store.ts";

/** What the store says of the others. */
export interface Look {
  /** Members with a seat. */
  readonly members: readonly string[];
  /** Partitions that each member holds, by name. */
  readonly held: ReadonlyMap<string, number>;
}

type Kind = "partitions" | "seats";

/** Members that take the last free seat at the same time make new ones; so many rounds are far more than it takes. */
const SEAT_ROUNDS = 10;

export class AssignmentStore {
  readonly #claims: ClaimStore<Kind>;
  readonly #partitions: number;

  /** @param leaseMs - of partitions and seats */
  constructor(
    backend: Backend,
    { stream, group, partitions, consumerId }: { stream: string; group: string; partitions: number; consumerId: string },
    leaseMs: () => number,
  ) {
    this.#partitions = partitions;
    const names = Array.from({ length: partitions }, (_, partition) => `partition-${partition}`);
    const kinds = { partitions: names, seats: [] };
    this.#claims = new ClaimStore(backend, { stream: assignmentStream(stream, group), kinds, consumerId, leaseMs });
  }

  /** Whose wake-ups say that something was given up. */
  get stream(): string {
    return this.#claims.stream;
  }

  /** Makes what is not there yet. To be called first, and again after {@link forget}. */
  ensure(): Promise<void> {
    return this.#claims.ensure();
  }

  /** It may have been deleted. */
  forget(): void {
    this.#claims.forget();
  }

  async look(): Promise<Look> {
    const seats = await this.#claims.stats("seats");
    const partitions = await this.#claims.stats("partitions");
    const holding = partitions.members.filter(({ leases }) => leases > 0);
    return {
      members: seats.members.filter(({ leases }) => leases > 0).map(({ consumerId }) => consumerId),
      held: new Map(holding.map(({ consumerId, leases }) => [consumerId, leases])),
    };
  }

  /** Leases a seat, an own new one if none is free. */
  async takeSeat(): Promise<Claim> {
    for (let round = 0; round < SEAT_ROUNDS; round++) {
      const [seat] = await this.#claims.take("seats", 1);
      if (seat !== undefined) return seat;
      await this.#claims.append("seats", [`seat-${(await this.#claims.count("seats")) + 1}`]);
    }
    throw new RheoError("unavailable", `No seat of ${this.stream} could be had: too many members came at the same time.`);
  }

  /** Leases up to `limit` partitions that are free. */
  async take(limit: number): Promise<Claim[]> {
    const claims = await this.#claims.take("partitions", limit);
    if (claims.every(({ sequence }) => sequence <= this.#partitions)) return claims;
    await this.#claims.remove(); // made for a stream of that name that had more partitions, and is no more
    return [];
  }

  /** By place in `claims`: null when renewed, else why not. */
  async renew(kind: Kind, claims: readonly Claim[]): Promise<readonly (StaleReason | null)[]> {
    const [first, ...others] = claims;
    return first === undefined ? [] : (await this.#claims.renew(kind, [first, ...others])).stale;
  }

  release(kind: Kind, claims: readonly Claim[]): Promise<void> {
    return this.#claims.release(kind, claims);
  }
}
