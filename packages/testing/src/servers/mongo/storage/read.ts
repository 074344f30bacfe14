/** Documents that a transaction sees and a filter matches. */
import type { Scope } from "../expressions/scope.ts";
import { compileFilter, type Match } from "../query/match.ts";
import { choosePlan, type Plan } from "../query/plan.ts";
import { type SortField, sortKey } from "../query/sort.ts";
import type { Doc } from "../values/document.ts";
import type { Collection } from "./collection.ts";
import type { Row } from "./row.ts";
import type { Transaction } from "./transaction.ts";

export interface Found {
  readonly row: Row;
  readonly doc: Doc;
}

export interface Search {
  readonly filter: Doc;
  readonly scope: Scope;
  readonly sort: readonly SortField[];
  /** How many are wanted, those that will be skipped included. */
  readonly limit: number;
}

export const search = (
  transaction: Transaction,
  collection: Collection,
  { filter, scope, sort, limit }: Search,
): readonly Found[] => {
  const match = compileFilter(filter, scope);
  const plan = choosePlan(collection.indexes.values(), filter, sort);
  const inOrder = sort.length === 0 || plan?.inOrder === true;
  const committed = plan === null ? allRows(transaction, collection) : planned(transaction, collection, plan);
  const found = take(committed, match, inOrder ? limit : Number.POSITIVE_INFINITY);
  const own = take(ownRows(transaction, collection), match, Number.POSITIVE_INFINITY);
  const all = own.length === 0 ? found : [...found, ...own];
  const sorted = sort.length === 0 || (inOrder && own.length === 0) ? all : sortFound(all, sort);
  return sorted.length > limit ? sorted.slice(0, limit) : sorted;
};

const take = (rows: Iterable<Found>, match: Match, limit: number): Found[] => {
  const found: Found[] = [];
  if (limit === 0) return found;
  for (const one of rows) {
    if (!match(one.doc)) continue;
    found.push(one);
    if (found.length >= limit) break;
  }
  return found;
};

function* allRows(transaction: Transaction, collection: Collection): Generator<Found> {
  const own = transaction.written(collection);
  for (const row of collection.rows.values()) {
    const doc = own.has(row) ? null : row.visibleAt(transaction.snapshot)?.doc;
    if (doc) yield { row, doc };
  }
}

function* planned(transaction: Transaction, collection: Collection, { index, ranges, backwards }: Plan): Generator<Found> {
  const own = transaction.written(collection);
  const seen = index.multikey || ranges.length > 1 ? new Set<Row>() : null;
  for (const { lower, upper } of ranges)
    for (const [, { row, version }] of index.entries.range(lower, upper, backwards)) {
      if (version.doc === null || own.has(row) || seen?.has(row) || row.visibleAt(transaction.snapshot) !== version) continue;
      seen?.add(row);
      yield { row, doc: version.doc };
    }
}

function* ownRows(transaction: Transaction, collection: Collection): Generator<Found> {
  for (const [row, doc] of transaction.written(collection)) if (doc !== null) yield { row, doc };
}

const sortFound = (found: readonly Found[], sort: readonly SortField[]): readonly Found[] => {
  const keyed = found.map((one) => ({ one, key: sortKey(one.doc, sort) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map(({ one }) => one);
};
