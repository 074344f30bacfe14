/** What a driver asks of a server before and beside its work. */
import { Int32, Long, ObjectId, UUID } from "bson";
import type { Doc } from "../values/document.ts";
import { onlyFields } from "../values/expect.ts";
import type { Command } from "./request.ts";

/** MongoDB 7.0. */
const WIRE_VERSION = 21;
const MAX_BSON_BYTES = 16 * 1024 * 1024;
const MAX_MESSAGE_BYTES = 48_000_000;
const MAX_WRITE_BATCH = 100_000;
const SESSION_MINUTES = 30;

/** A replica set of one node, which is primary unless it has stepped down. It offers no streaming of this answer. */
export const hello: Command = ({ server, name }) => {
  const { primary, me, term } = server;
  return {
    ...(name === "hello" ? { isWritablePrimary: primary } : { ismaster: primary }),
    helloOk: true,
    secondary: !primary,
    setName: "rs0",
    setVersion: new Int32(1),
    hosts: [me],
    me,
    ...(primary ? { primary: me, electionId: new ObjectId(`7fffffff${term.toString(16).padStart(16, "0")}`) } : {}),
    maxBsonObjectSize: new Int32(MAX_BSON_BYTES),
    maxMessageSizeBytes: new Int32(MAX_MESSAGE_BYTES),
    maxWriteBatchSize: new Int32(MAX_WRITE_BATCH),
    localTime: new Date(server.clock.nowMs()),
    logicalSessionTimeoutMinutes: new Int32(SESSION_MINUTES),
    connectionId: new Int32(1),
    minWireVersion: new Int32(0),
    maxWireVersion: new Int32(WIRE_VERSION),
    readOnly: false,
  };
};

export const nothing: Command = () => ({});

export const buildInfo: Command = () => ({
  version: "7.0.0",
  versionArray: [7, 0, 0, 0].map((part) => new Int32(part)),
  gitVersion: "rheo-double",
  rheoDouble: true,
  modules: [],
  bits: new Int32(64),
  maxBsonObjectSize: new Int32(MAX_BSON_BYTES),
});

export const startSession: Command = () => ({ id: { id: new UUID() }, timeoutMinutes: new Int32(SESSION_MINUTES) });

export const replSetGetStatus: Command = ({ server }) => ({
  set: "rs0",
  myState: new Int32(server.primary ? 1 : 2),
  date: new Date(server.clock.nowMs()),
  term: Long.fromNumber(server.term),
  members: [{ _id: new Int32(0), name: server.me, health: new Int32(1), state: new Int32(1), stateStr: "PRIMARY", self: true }],
});

export const serverStatus: Command = ({ server }) => ({
  host: server.me,
  version: "7.0.0",
  process: "rheo-double",
  localTime: new Date(server.clock.nowMs()),
  repl: { setName: "rs0", isWritablePrimary: server.primary, hosts: [server.me], primary: server.me, me: server.me },
});

/** Only what tests and diagnoses read. */
export const getParameter: Command = ({ server, body }) => {
  const known: Doc = { transactionLifetimeLimitSeconds: new Int32(Math.ceil(server.sessions.lifetimeMs / 1_000)) };
  return body.getParameter === "*"
    ? known
    : Object.fromEntries(Object.entries(known).filter(([name]) => Object.hasOwn(body, name)));
};

export const setParameter: Command = ({ server, body }) => {
  const given = Object.fromEntries(
    Object.entries(body).filter(([name]) => !["setParameter", "$db", "lsid", "$clusterTime"].includes(name)),
  );
  onlyFields(given, "setParameter", ["transactionLifetimeLimitSeconds"]);
  const seconds = given.transactionLifetimeLimitSeconds;
  if (seconds instanceof Int32) server.sessions.lifetimeMs = seconds.value * 1_000;
  return {};
};
