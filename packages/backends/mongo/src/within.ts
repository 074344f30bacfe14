/** Sessions of the caller's, given as `{ transaction }`: our commands run in the transaction that is open on them (T8). */
import type { RheoError } from "@rheo/core";
import type { ClientSession, MongoClient } from "mongodb";
import { hasLabel, invalid, unavailable } from "./errors.ts";
import { isClient } from "./options.ts";
import type { Store, Unit } from "./store.ts";

/**
 * Runs inside the caller's transaction. A failure that asks for that transaction to be run again is the driver's own, untouched, because
 * `withTransaction` and callers like it go by its label.
 * @throws invalid_option - not a session, no transaction open on it, or not of the store's deployment
 */
export const within = async <Result>(
  store: Store,
  transaction: unknown,
  work: (unit: Unit) => Promise<Result>,
): Promise<Result> => {
  const session = sessionOf(transaction);
  const client = clientOf(session);
  const unit = store.unitOf(session, client);
  try {
    if (client !== store.database.client) await requireSameStore(store, unit);
    return await work(unit);
  } catch (error) {
    throw hasLabel(error, "TransientTransactionError") ? error : unavailable(error);
  }
};

const sessionOf = (value: unknown): ClientSession => {
  if (!isSession(value)) throw notSession();
  if (!value.inTransaction())
    throw invalid(
      "transaction",
      "transaction: no transaction is open on the session. Begin one with startTransaction or withTransaction.",
    );
  return value;
};

const isSession = (value: unknown): value is ClientSession =>
  typeof value === "object" &&
  value !== null &&
  typeof Reflect.get(value, "inTransaction") === "function" &&
  isClient(Reflect.get(value, "client"));

/** The driver keeps it there, but not in its types. */
const clientOf = (session: ClientSession): MongoClient => {
  const client: unknown = Reflect.get(session, "client");
  if (!isClient(client)) throw notSession();
  return client;
};

const notSession = (): RheoError =>
  invalid("transaction", "transaction is a ClientSession of the mongodb driver, with a transaction open on it.");

/** Of a client that is not ours: the store that it sees is asked for its id. */
const requireSameStore = async (store: Store, { collections, within }: Unit): Promise<void> => {
  const found = await collections.meta.findOne({ _id: "schema" }, within);
  if (found !== null && "storeId" in found && found.storeId === store.storeId) return;
  throw invalid("transaction", "transaction: the session is of another deployment than this Rheo's.");
};
