/** The driver that comes with Node: `node:sqlite`, from Node 22.5. */
import { bindable, type Connection, type Row, type Statement } from "./driver.ts";

/** The part of a `DatabaseSync` that is used. */
export interface NodeSqliteHandle {
  /** Runs statements without parameters. */
  exec(sql: string): void;
  /** Compiles one statement. */
  prepare(sql: string): NodeSqliteStatement;
  /** Closes the database. */
  close(): void;
  /** From Node 22.16. */
  readonly isTransaction?: boolean;
}

interface NodeSqliteStatement {
  run(...parameters: unknown[]): { readonly changes: number | bigint };
  get(...parameters: unknown[]): unknown;
  all(...parameters: unknown[]): unknown[];
  setReadBigInts(enabled: boolean): void;
  /** From Node 22.16. */
  setReturnArrays?(enabled: boolean): void;
}

type NodeSqliteModule = { readonly DatabaseSync: new (path: string) => NodeSqliteHandle };

export const isNodeSqlite = (handle: unknown): handle is NodeSqliteHandle =>
  typeof handle === "object" &&
  handle !== null &&
  !("inTransaction" in handle) &&
  "exec" in handle &&
  typeof handle.exec === "function" &&
  "prepare" in handle &&
  typeof handle.prepare === "function";

/** `node:sqlite`, or null where this Node has none. */
export const loadNodeSqlite = (): NodeSqliteModule | null => {
  const found = withoutExperimentalWarning((): unknown => process.getBuiltinModule?.("node:sqlite"));
  return isModule(found) ? found : null;
};

const isModule = (value: unknown): value is NodeSqliteModule =>
  typeof value === "object" && value !== null && "DatabaseSync" in value && typeof value.DatabaseSync === "function";

/**
 * Node 22 prints an ExperimentalWarning when the module is first loaded. The load is synchronous, so nobody else's warning can
 * fall into the gap; others from inside it pass.
 */
const withoutExperimentalWarning = <Result>(load: () => Result): Result => {
  const descriptor = Object.getOwnPropertyDescriptor(process, "emitWarning");
  if (descriptor === undefined) return load();
  const value = (...parameters: unknown[]): void => {
    if (parameters[1] !== "ExperimentalWarning") Reflect.apply(descriptor.value, process, parameters);
  };
  Object.defineProperty(process, "emitWarning", { ...descriptor, value });
  try {
    return load();
  } finally {
    Object.defineProperty(process, "emitWarning", descriptor);
  }
};

export const nodeSqliteConnection = (handle: NodeSqliteHandle): Connection => {
  let open = true;
  return {
    exec: (sql) => handle.exec(sql),
    prepare: (sql) => prepare(handle, sql),
    prefersPacked: false,
    library: handle.constructor,
    get inTransaction() {
      return handle.isTransaction ?? probeTransaction(handle);
    },
    close: async () => {
      if (open) handle.close();
      open = false;
    },
  };
};

/** Before Node 22.16 the only way to know is to try: a transaction does not nest. */
const probeTransaction = (handle: NodeSqliteHandle): boolean => {
  try {
    handle.exec("BEGIN");
  } catch {
    return true;
  }
  handle.exec("ROLLBACK");
  return false;
};

const prepare = (handle: NodeSqliteHandle, sql: string): Statement => {
  const statement = handle.prepare(sql);
  statement.setReadBigInts(false);
  statement.setReturnArrays?.(true);
  return {
    run: (parameters) => Number(statement.run(...bindable(parameters)).changes),
    get: (parameters) => {
      const row = statement.get(...bindable(parameters));
      return row === undefined ? undefined : asRow(row);
    },
    all: (parameters) => statement.all(...bindable(parameters)).map(asRow),
  };
};

/** Before Node 22.16 a row is an object; its columns are in order and, in every statement here, named apart. */
const asRow = (row: unknown): Row => {
  if (Array.isArray(row)) return row;
  return typeof row === "object" && row !== null ? Object.values(row) : [];
};
