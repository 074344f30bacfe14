import type { Socket } from "node:net";
import { execute } from "../commands/execute.ts";
import type { Server } from "../server.ts";
import { answerTo, type Message, parseMessage } from "./message.ts";

/** As the server: 48 MB and a little. */
const MAX_BYTES = 48_000_000 + 16 * 1024;

/** Messages of one client, answered in their order. */
export class Connection {
  readonly #server: Server;
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  #size = 0;
  /** Until so many are there, nothing can be done. */
  #wanted = 4;
  #work: Promise<void> = Promise.resolve();

  constructor(server: Server, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", () => socket.destroy());
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#wanted) return;
    this.#bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    for (let size = this.#nextSize(); size !== null; size = this.#nextSize()) {
      const bytes = this.#bytes.subarray(0, size);
      this.#bytes = this.#bytes.subarray(size);
      this.#work = this.#work.then(() => this.#answer(bytes)).catch(() => void this.#socket.destroy());
    }
    this.#chunks = this.#bytes.length > 0 ? [this.#bytes] : [];
    this.#size = this.#bytes.length;
    this.#wanted = this.#size < 4 ? 4 : this.#bytes.readInt32LE(0);
  }

  #nextSize(): number | null {
    if (this.#bytes.length < 4) return null;
    const size = this.#bytes.readInt32LE(0);
    if (size < 16 || size > MAX_BYTES) {
      this.#socket.destroy();
      return null;
    }
    return this.#bytes.length < size ? null : size;
  }

  async #answer(bytes: Buffer): Promise<void> {
    const message: Message = parseMessage(bytes);
    const [name = ""] = Object.keys(message.body);
    const [command, body] = message.legacy && name === "$db" ? legacy(message) : [name, message.body];
    const answer = await execute(this.#server, command, body);
    if (answer === null) this.#socket.destroy();
    else if (message.wantsAnswer && !this.#socket.destroyed) this.#socket.write(answerTo(message, answer));
  }
}

/** Its database was put before the command. */
const legacy = ({ body }: Message): [string, Message["body"]] => [Object.keys(body)[1] ?? "", body];
