import type { LinkFault, Network } from "../servers/network.ts";
import { Parents, type ParentsOptions } from "./parents.ts";
import type { RheoStart } from "./rheo-start.ts";

/** Where the processes of a run are: on this host, or on several of their own, whose links can be broken. */
export class Hosts {
  readonly #parents: readonly Parents[];
  readonly #network: Network | null;
  /** Hosts with a broken link, and what will heal it. */
  readonly #broken = new Map<number, NodeJS.Timeout>();

  /** Without a network, one: this one. */
  constructor(options: ParentsOptions, network: Network | null, count: number) {
    this.#network = network;
    this.#parents = Array.from({ length: count }, (_, host) => {
      const rheo = [...(network?.on(host) ?? []), ...options.rheo];
      return new Parents({ ...options, rheo, name: network === null ? "rheo" : `host-${host}` });
    });
  }

  /** Of a number in [0, 1): a host, and what is left of the number, for a choice there. */
  pick(fraction: number): { readonly host: number; readonly parents: Parents; readonly rest: number } {
    const scaled = fraction * this.#parents.length;
    const host = Math.floor(scaled);
    const parents = this.#parents[host];
    if (parents === undefined) throw new RangeError(`There is no host ${host}.`);
    return { host, parents, rest: scaled - host };
  }

  /** As many children as there are to be, all ready, and none on its way in or out. */
  get isWhole(): boolean {
    return this.#parents.every(({ isWhole }) => isWhole);
  }

  get orphans(): number {
    return sum(this.#parents, ({ orphans }) => orphans);
  }

  /** Links that are broken. */
  get brokenLinks(): number {
    return this.#broken.size;
  }

  get current(): readonly RheoStart[] {
    return this.#parents.map(({ current }) => current);
  }

  look(): string[] {
    return this.#parents.flatMap((parents) => parents.look());
  }

  lastWords(): string {
    return this.#parents.map((parents) => parents.lastWords()).join(" || ");
  }

  count(type: string): number {
    return sum(this.#parents, (parents) => parents.count(type));
  }

  /** False when the link of that host is broken already. */
  breakLink(host: number, fault: LinkFault, ms: number): boolean {
    if (this.#network === null || this.#broken.has(host)) return false;
    this.#network.fault(host, fault);
    this.#broken.set(
      host,
      setTimeout(() => this.#heal(host), ms),
    );
    return true;
  }

  healAll(): void {
    for (const host of this.#broken.keys()) this.#heal(host);
  }

  /** SIGTERM to each. What was wrong with how they ended. */
  async end(): Promise<string[]> {
    const ends = await Promise.all(this.#parents.map((parents) => parents.end().then((code) => [parents, code] as const)));
    return ends
      .filter(([, code]) => code !== 0)
      .map(([parents, code]) => `SIGTERM ended rheo start with ${code}, not 0: ${parents.lastWords()}`);
  }

  close(): void {
    for (const parents of this.#parents) parents.close();
  }

  #heal(host: number): void {
    clearTimeout(this.#broken.get(host));
    this.#broken.delete(host);
    this.#network?.heal(host);
  }
}

const sum = <Item>(items: readonly Item[], of: (item: Item) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
