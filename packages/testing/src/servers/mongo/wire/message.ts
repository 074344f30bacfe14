/** Messages of the wire protocol: OP_MSG, and OP_QUERY for a driver's first hello. */
import { type Doc, decode, encode } from "../values/document.ts";

const REPLY = 1;
const QUERY = 2004;
const MSG = 2013;
export const HEADER_BYTES = 16;
const CHECKSUM_PRESENT = 1;
const MORE_TO_COME = 2;
const CHECKSUM_BYTES = 4;

export interface Message {
  readonly id: number;
  readonly body: Doc;
  /** Whether the client waits for an answer. */
  readonly wantsAnswer: boolean;
  readonly legacy: boolean;
}

/** @throws when it is none that the double knows: the connection is of no use then */
export const parseMessage = (bytes: Buffer): Message => {
  const id = bytes.readInt32LE(4);
  const code = bytes.readInt32LE(12);
  if (code === MSG) return parseMsg(id, bytes);
  if (code === QUERY) return parseQuery(id, bytes);
  throw new Error(`A message of the kind ${code} is not known.`);
};

const parseMsg = (id: number, bytes: Buffer): Message => {
  const flags = bytes.readUInt32LE(HEADER_BYTES);
  const end = bytes.length - (flags & CHECKSUM_PRESENT ? CHECKSUM_BYTES : 0);
  let body: Doc = {};
  const sequences: Doc = {};
  for (let at = HEADER_BYTES + 4; at < end; ) {
    const kind = bytes[at];
    const size = bytes.readInt32LE(at + 1);
    const section = bytes.subarray(at + 1, at + 1 + size);
    if (kind === 0) body = decode(section);
    else if (kind === 1) Object.assign(sequences, parseSequence(section));
    else throw new Error(`A section of the kind ${kind} is not known.`);
    at += 1 + size;
  }
  return { id, body: { ...body, ...sequences }, wantsAnswer: (flags & MORE_TO_COME) === 0, legacy: false };
};

const parseSequence = (section: Buffer): Doc => {
  const nameEnd = section.indexOf(0, 4);
  const docs: Doc[] = [];
  for (let at = nameEnd + 1; at < section.length; ) {
    const size = section.readInt32LE(at);
    docs.push(decode(section.subarray(at, at + size)));
    at += size;
  }
  return { [section.toString("utf8", 4, nameEnd)]: docs };
};

const parseQuery = (id: number, bytes: Buffer): Message => {
  const nameEnd = bytes.indexOf(0, HEADER_BYTES + 4);
  const from = nameEnd + 1 + 8;
  const body = decode(bytes.subarray(from, from + bytes.readInt32LE(from)));
  return {
    id,
    body: { $db: bytes.toString("utf8", HEADER_BYTES + 4, nameEnd).split(".")[0], ...body },
    wantsAnswer: true,
    legacy: true,
  };
};

export const answerTo = ({ id, legacy }: Message, answer: Doc): Buffer =>
  legacy ? encodeReply(answer, id) : encodeMessage(answer, id);

/** `answers`: the id of the message that it answers, 0 of a command. */
export const encodeMessage = (body: Doc, answers: number): Buffer =>
  encodeWith(Buffer.alloc(HEADER_BYTES + 5), body, answers, MSG);

/** Flags, cursor and start are 0, and it holds one document. */
const encodeReply = (body: Doc, answers: number): Buffer => {
  const head = Buffer.alloc(HEADER_BYTES + 20);
  head.writeInt32LE(1, HEADER_BYTES + 16);
  return encodeWith(head, body, answers, REPLY);
};

const encodeWith = (head: Buffer, body: Doc, answers: number, code: number): Buffer => {
  const doc = encode(body);
  head.writeInt32LE(head.length + doc.length, 0);
  head.writeInt32LE(nextId(), 4);
  head.writeInt32LE(answers, 8);
  head.writeInt32LE(code, 12);
  return Buffer.concat([head, doc]);
};

let last = 0;
const nextId = (): number => {
  last = (last + 1) & 0x7fff_ffff;
  return last;
};
