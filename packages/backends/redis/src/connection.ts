/** Commands and scripts over one pipelined connection (of each node): what is waited for, what is tried again, and what a failure means. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { type Client, createClient, endClient, isCluster } from "./client.ts";
import {
  broken,
  closed,
  codeOf,
  isBreak,
  isLasting,
  isMoving,
  isRefusal,
  notReplicated,
  outcomeUnknown,
  unavailable,
} from "./errors.ts";
import type { ResolvedOptions, WaitReplicas } from "./options.ts";
import { Sending } from "./sending.ts";
import { Status } from "./status.ts";

/** A Lua script. */
export interface Script {
  readonly name: string;
  readonly text: string;
  /** SHA-1 of the text, in hex. */
  readonly sha: string;
  /** Then a lost answer is not a failure. */
  readonly writes: boolean;
}

export type Argument = string | number | Buffer;

export interface Connection {
  /** Whether keys of different slots need calls of their own. */
  readonly isCluster: boolean;
  /**
   * Runs a script where `keys` live (on a Cluster all in one slot): by its hash, or with its text when the server does not know it.
   * Texts are answered as strings, integers as numbers, nil as null.
   *
   * While a slot of a Cluster is being moved, `redis.call` fails on a key that this node does not have (any more), also half way
   * through a script; and on the node that the slot goes to, keys that have not come yet look as if they were empty. So on a Cluster
   * a script begins with one `EXISTS` of every key that it may touch: with two or more of them it fails, before anything was written,
   * unless all are there, and the script is tried again until the slot has been moved.
   * @param onSent - called each time that it is on its way: what is sent to a single server from then on comes after it
   * @throws unavailable - nothing was applied; outcome_unknown - a writing script may have been
   */
  run(script: Script, keys: readonly string[], args: readonly Argument[], onSent?: () => void): Promise<unknown>;
  /** A command that reads. @throws unavailable */
  call(command: string, key: string, ...args: readonly Argument[]): Promise<unknown>;
  /** @throws unavailable */
  ping(): Promise<void>;
  /** Waits for what is under way, then ends connections of Rheo's own. Idempotent. */
  end(): Promise<void>;
}

interface Call {
  readonly name: string;
  readonly args: readonly Argument[];
  readonly writes: boolean;
  /** One node of a Cluster. */
  readonly node?: Redis;
  readonly onSent?: (() => void) | undefined;
}

interface Answer {
  readonly value: unknown;
  /** Where it came from. */
  readonly socket: object | null;
}

/** What could not be sent is tried again after this time, in ms. */
const PAUSE_MS = 50;

/** No answer in time. */
class Late extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
  }
}

export class RedisConnection implements Connection {
  readonly isCluster: boolean;
  readonly client: Client;
  readonly #options: ResolvedOptions;
  readonly #isOwn: boolean;
  readonly #status: Status;
  readonly #underWay = new Set<Sending>();
  #isClosed = false;

  constructor(options: ResolvedOptions, random: () => number) {
    this.#options = options;
    this.#isOwn = options.source.kind !== "client";
    this.client = createClient(options, random);
    this.isCluster = isCluster(this.client);
    this.#status = new Status(this.client, () => this.#lose());
  }

  /** Connects. @throws unavailable - with connections of Rheo's own also if the first attempt fails */
  async open(): Promise<void> {
    const endMs = performance.now() + this.#options.connectTimeoutMs;
    await this.#status.ready(endMs, (error) => this.#isOwn || isLasting(error));
    await this.ping();
  }

  async run(script: Script, keys: readonly string[], args: readonly Argument[], onSent?: () => void): Promise<unknown> {
    const { writes } = script;
    const rest = [keys.length, ...keys, ...args];
    const byText = (error: unknown): Promise<Answer> => {
      if (codeOf(error) !== "NOSCRIPT") throw error;
      return this.#answer({ name: "eval", args: [script.text, ...rest], writes, onSent });
    };
    const sent = this.#answer({ name: "evalsha", args: [script.sha, ...rest], writes, onSent });
    const { value, socket } = await sent.catch(byText).catch((error: unknown) => {
      throw writes && isBreak(error) ? broken(error) : unavailable(error);
    });
    if (writes && this.#options.waitReplicas !== null) await this.#replicate(this.#options.waitReplicas, socket);
    return value;
  }

  async call(command: string, key: string, ...args: readonly Argument[]): Promise<unknown> {
    return (await this.#ask({ name: command, args: [key, ...args], writes: false })).value;
  }

  async ping(): Promise<void> {
    await this.#ask({ name: "ping", args: [], writes: false });
  }

  /** Tells who listens. A hint: without a connection it is dropped rather than kept for later. @throws unavailable */
  async publish(channel: string, message: string): Promise<void> {
    if (this.#status.isReady) await this.#ask({ name: "publish", args: [channel, message], writes: true });
  }

  /** The text of INFO, of each master. @throws unavailable */
  async infos(): Promise<string[]> {
    return (await this.ofEachMaster("info")).map(String);
  }

  /** What each master answers to a command that reads. @throws unavailable */
  async ofEachMaster(name: string, ...args: readonly Argument[]): Promise<unknown[]> {
    const answers = this.#masters.map((node) => this.#ask({ name, args, writes: false, node }));
    return (await Promise.all(answers)).map(({ value }) => value);
  }

  async end(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.allSettled([...this.#underWay].map(({ promise }) => promise));
    if (this.#isOwn) await endClient(this.client);
    this.#status.stop();
  }

  get #masters(): readonly Redis[] {
    return isCluster(this.client) ? this.client.nodes("master") : [this.client];
  }

  /** @throws unavailable, outcome_unknown */
  async #ask(call: Call): Promise<Answer> {
    try {
      return await this.#answer(call);
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** @throws unavailable, outcome_unknown; a refusal of the server as it came */
  async #answer(call: Call): Promise<Answer> {
    const endMs = performance.now() + this.#options.connectTimeoutMs;
    for (let lost = 0; ; ) {
      if (!this.#isClosed && !this.#status.isReady) await this.#status.ready(endMs, isLasting);
      if (this.#isClosed) throw closed();
      const sending = new Sending(call.name, call.args);
      try {
        return { value: await this.#send(sending, call.node ?? this.client, call.onSent), socket: sending.socket };
      } catch (error) {
        if (codeOf(error) === "READONLY") this.#renew();
        if (isRefusal(error) && !isMoving(error)) throw error;
        if (sending.wasSent && call.writes) throw outcomeUnknown(error);
        // a read that was lost is asked again; if that is lost as well, there is more to it than a broken connection
        if (sending.wasSent) lost += 1;
        if (error instanceof Late || lost > 1 || performance.now() > endMs) throw unavailable(error);
        if (!sending.wasSent) await sleep(PAUSE_MS);
      }
    }
  }

  async #send(sending: Sending, client: Client, onSent?: () => void): Promise<unknown> {
    const { commandTimeoutMs } = this.#options;
    const timer = setTimeout(() => sending.lose(new Late(commandTimeoutMs)), commandTimeoutMs);
    this.#underWay.add(sending);
    try {
      client.sendCommand(sending);
      sending.guard();
      const isOnItsWay = sending.wasSent;
      if (isOnItsWay) onSent?.();
      const value = await sending.promise;
      if (!isOnItsWay) onSent?.(); // the driver had kept it until it was connected
      return value;
    } finally {
      clearTimeout(timer);
      this.#underWay.delete(sending);
      if (this.#underWay.size === 0) this.#status.reconnect();
    }
  }

  /** Waits until the write that was just answered on that connection has got to replicas. @throws outcome_unknown */
  async #replicate({ replicas, timeoutMs }: Required<WaitReplicas>, socket: object | null): Promise<void> {
    const node = this.#masters.find(({ stream }) => stream === socket);
    const sending = new Sending("wait", [replicas, timeoutMs], { socket });
    const has = node === undefined ? 0 : await this.#send(sending, node).catch(() => 0);
    if (typeof has !== "number" || has < replicas) throw notReplicated(Number(has), replicas, timeoutMs);
  }

  /** The server only reads: its name may by now mean another, so it is connected to anew once nothing is under way. */
  #renew(): void {
    if (!this.#isOwn || this.isCluster) return;
    this.#status.renew();
    if (this.#underWay.size === 0) this.#status.reconnect();
  }

  /** The connection is gone, and with it the answers. What the driver keeps for the next one is not waited for either. */
  #lose(): void {
    for (const sending of this.#underWay) sending.lose(new Error("the connection was lost"));
  }
}
