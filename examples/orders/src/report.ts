import { orders } from "./orders.ts";
import type { Shop } from "./shop.ts";

/** What must be so, counted in the tables. */
export interface Report {
  readonly orders: number;
  readonly invoices: number;
  /** Orders that have no invoice, and those that have several. Both are 0. */
  readonly without: number;
  readonly twice: number;
  /** Numbers that are missing from 1 to the last, or given twice. 0. */
  readonly gaps: number;
  readonly mails: number;
  /** Mails that the service was asked for again after a crash, and sent once. */
  readonly askedAgain: number;
  readonly deadLetters: number;
  /** Transactions that were cut off half way, as the server counts them. */
  readonly rolledBack: number;
}

const COUNTS = `
  WITH billed AS (SELECT o.id, count(i.number) AS invoices FROM shop.orders o LEFT JOIN shop.invoices i ON i.order_id = o.id GROUP BY o.id)
  SELECT
    (SELECT count(*) FROM shop.orders)::int AS orders,
    (SELECT count(*) FROM shop.invoices)::int AS invoices,
    (SELECT count(*) FROM billed WHERE invoices = 0)::int AS without,
    (SELECT count(*) FROM billed WHERE invoices > 1)::int AS twice,
    (SELECT coalesce(max(number), 0) - count(DISTINCT number) + count(*) - count(DISTINCT number) FROM shop.invoices)::int AS gaps,
    (SELECT count(*) FROM shop.mails)::int AS mails,
    (SELECT count(*) FROM shop.mails WHERE asked > 1)::int AS "askedAgain",
    (SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database())::int AS "rolledBack"`;

export const report = async ({ pool, rheo }: Shop): Promise<Report> => {
  const { rows } = await pool.query<Omit<Report, "deadLetters">>(COUNTS);
  const infos = await Promise.all(["billing", "mailing"].map((group) => rheo.groupInfo(orders, group)));
  if (rows[0] === undefined) throw new Error("a SELECT without FROM gives one row");
  return { ...rows[0], deadLetters: infos.reduce((sum, { deadLetters }) => sum + deadLetters, 0) };
};
