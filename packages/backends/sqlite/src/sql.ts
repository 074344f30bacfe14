import type { Connection, Row, Statement, Value } from "./driver/driver.ts";

/** A connection with its prepared statements, each made once. */
export class Sql {
  readonly connection: Connection;
  readonly #statements = new Map<string, Statement>();

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** How many rows were changed. */
  run(sql: string, ...parameters: readonly Value[]): number {
    return this.#prepared(sql).run(parameters);
  }

  /** As {@link run}, for lists too long to be spread. */
  runMany(sql: string, parameters: readonly Value[]): number {
    return this.#prepared(sql).run(parameters);
  }

  get(sql: string, ...parameters: readonly Value[]): Row | undefined {
    return this.#prepared(sql).get(parameters);
  }

  all(sql: string, ...parameters: readonly Value[]): readonly Row[] {
    return this.#prepared(sql).all(parameters);
  }

  /** As {@link all}, for a statement that is not worth keeping. */
  allOnce(sql: string, parameters: readonly Value[]): readonly Row[] {
    return this.connection.prepare(sql).all(parameters);
  }

  exec(sql: string): void {
    this.connection.exec(sql);
  }

  /** Drops the statements, so that a driver can let go of the file. */
  forget(): void {
    this.#statements.clear();
  }

  #prepared(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
