import { connect } from "node:net";
import { deserialize } from "bson";
import type { Doc } from "../values/document.ts";
import { encodeMessage, HEADER_BYTES } from "./message.ts";

const ANSWER_MS = 5_000;

/**
 * One command to a double on the loopback, without a driver.
 * @throws when it is refused, or nobody answers
 */
export const ask = (port: number, command: Doc): Promise<Doc> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    const fail = (why: string): void => {
      socket.destroy();
      reject(new Error(why));
    };
    socket.setTimeout(ANSWER_MS, () => fail(`no answer within ${ANSWER_MS} ms`));
    socket.once("connect", () => socket.write(encodeMessage(command, 0)));
    socket.once("error", reject);
    socket.once("close", () => fail("the connection was closed"));
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      if (bytes.length < 4 || bytes.length < bytes.readInt32LE(0)) return;
      const answer: Doc = deserialize(bytes.subarray(HEADER_BYTES + 5));
      if (answer.ok === 1) {
        resolve(answer);
        socket.destroy();
      } else fail(String(answer.errmsg));
    });
  });
