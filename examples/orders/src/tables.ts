/**
 * The tables of the shop, in the same database as Rheo's, but in a schema of their own.
 *
 * Nothing in `invoices` forbids two invoices of one order. That is on purpose: here it is shown that the ack alone keeps it to one. In a table of
 * yours, have the constraint as well.
 */
export const TABLES = `
  CREATE SCHEMA IF NOT EXISTS shop;
  CREATE TABLE IF NOT EXISTS shop.orders (
    id uuid PRIMARY KEY,
    customer text NOT NULL,
    country text NOT NULL,
    net_cents bigint NOT NULL
  );
  CREATE TABLE IF NOT EXISTS shop.vat_rates (country text PRIMARY KEY, percent integer NOT NULL);
  CREATE TABLE IF NOT EXISTS shop.invoice_numbers (one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row), last bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS shop.invoices (number bigint NOT NULL, order_id uuid NOT NULL, gross_cents bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS shop.mails (
    idempotency_key text PRIMARY KEY,
    fencing_token bigint NOT NULL,
    recipient text NOT NULL,
    asked integer NOT NULL DEFAULT 1
  );
  INSERT INTO shop.vat_rates VALUES ('DE', 19), ('FR', 20), ('NL', 21) ON CONFLICT DO NOTHING;
  INSERT INTO shop.invoice_numbers (last) VALUES (0) ON CONFLICT DO NOTHING;
`;
