/** A socket in the directory that answers as long as the process lives: the kernel sees to it. */
import { randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

/** The longest path of a socket is some hundred bytes; by way of an open directory any path is short. */
const viaDirectory = async <Result>(directory: string, name: string, use: (path: string) => Promise<Result>): Promise<Result> => {
  if (process.platform !== "linux") return use(join(directory, name));
  const open = openSync(directory, "r");
  try {
    return await use(`/proc/self/fd/${open}/${name}`);
  } finally {
    closeSync(open);
  }
};

export class Listener {
  readonly name: string;
  readonly #directory: string;
  readonly #server: Server;

  private constructor(directory: string, name: string, server: Server) {
    this.#directory = directory;
    this.name = name;
    this.#server = server;
  }

  /** Null where there are no sockets in file systems. */
  static async start(directory: string): Promise<Listener | null> {
    if (process.platform === "win32") return null;
    const name = `owner.${randomUUID()}.socket`;
    const server = createServer((socket) => socket.destroy());
    server.unref();
    const listens = await viaDirectory(
      directory,
      name,
      (path) =>
        new Promise<boolean>((resolve) => {
          server.once("error", () => resolve(false));
          server.listen(path, () => resolve(true));
        }),
    );
    if (!listens) return null;
    server.on("error", () => undefined);
    return new Listener(directory, name, server);
  }

  /** Whether others still find it. */
  get isThere(): boolean {
    return existsSync(join(this.#directory, this.name));
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      rmSync(join(this.#directory, this.name), { force: true });
    });
  }
}

/** Whether somebody listens there; null when that cannot be told. */
export const answers = (directory: string, name: string): Promise<boolean | null> =>
  viaDirectory(
    directory,
    name,
    (path) =>
      new Promise<boolean | null>((resolve) => {
        const socket = connect(path);
        socket.once("connect", () => {
          socket.destroy();
          resolve(true);
        });
        socket.once("error", (error: Error & { code?: string }) => {
          resolve(error.code === "ECONNREFUSED" || error.code === "ENOENT" ? false : null);
        });
      }),
  );
