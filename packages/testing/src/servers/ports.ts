import { randomInt } from "node:crypto";
import { connect, createServer } from "node:net";

// below those that Linux (32768), macOS and Windows (49152) give to connections going out: a client elsewhere cannot take one meanwhile
const FIRST = 10_000;
const END = 32_768;
const TRIES = 100;
const given = new Set<number>();

/**
 * A port of the loopback that nothing listens on at this moment, and that this process gave to nobody else: a server that was killed finds
 * it free when it is started again.
 */
export const freePort = async (): Promise<number> => {
  for (let n = 0; n < TRIES; n++) {
    const port = randomInt(FIRST, END);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`No free port was found between ${FIRST} and ${END} in ${TRIES} tries.`);
};

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });

/** Whether something takes connections there. */
export const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
