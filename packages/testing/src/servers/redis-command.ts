/** One command to a Redis server on the loopback, without a driver. */
import { connect } from "node:net";

const ANSWER_MS = 5_000;

/**
 * The answer as text: of a status, a number or a text; of anything else as the server sent it.
 * @throws when the server refuses the command or cannot be reached
 */
export const redisCommand = (port: number, ...words: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("latin1");
    socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`no answer to ${words[0]} within ${ANSWER_MS} ms`)));
    socket.once("connect", () => socket.write(encode(words)));
    socket.once("error", reject);
    socket.once("close", () => reject(new Error(`no answer to ${words[0]}`)));
    socket.on("data", (chunk: string) => {
      answer += chunk;
      if (endOf(answer, 0) === null) return;
      socket.destroy();
      const text = Buffer.from(answer, "latin1").toString();
      if (text.startsWith("-")) reject(new Error(text.slice(1).trim()));
      else resolve(textOf(text));
    });
  });

const encode = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;

/** Where the answer that begins at `start` ends; null while there is more to come. A character is a byte. */
const endOf = (answer: string, start: number): number | null => {
  const line = answer.indexOf("\r\n", start);
  if (line === -1) return null;
  const kind = answer.charAt(start);
  const size = Number(answer.slice(start + 1, line));
  let end: number | null = line + 2;
  if (kind === "$" && size >= 0) end += size + 2;
  for (let left = kind === "*" ? size : 0; left > 0 && end !== null; left--) end = endOf(answer, end);
  return end !== null && end <= answer.length ? end : null;
};

const textOf = (answer: string): string => {
  const line = answer.indexOf("\r\n");
  if (answer.startsWith("$")) return answer.slice(line + 2, -2);
  return /^[+:]/.test(answer) ? answer.slice(1, line) : answer;
};
