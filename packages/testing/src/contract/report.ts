import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { reportPath } from "../environment.ts";
import type { ContractCase } from "./case.ts";

interface Tally {
  passed: number;
  failed: number;
}

/** Counts by rule, printed once all cases of a backend ran, and merged into the report file if one is asked for. */
export class Report {
  readonly #backend: string;
  readonly #tallies = new Map<string, Tally>();

  constructor(backend: string) {
    this.#backend = backend;
  }

  /** Counts a case for its rule and for everything else that it guards. */
  async record(contractCase: ContractCase, run: () => Promise<void>): Promise<void> {
    try {
      await run();
      this.#count(contractCase, "passed");
    } catch (error) {
      this.#count(contractCase, "failed");
      throw error;
    }
  }

  finish(): void {
    if (this.#tallies.size === 0) return;
    const rules = [...this.#tallies].sort(([a], [b]) => compareRules(a, b));
    console.log(
      `\n${this.#backend}: rule passed/failed\n${table(rules.map(([rule, { passed, failed }]) => `${rule} ${passed}/${failed}`))}`,
    );
    const path = reportPath();
    if (path !== null) this.#write(path, Object.fromEntries(rules));
  }

  #count({ rule, also }: ContractCase, outcome: keyof Tally): void {
    for (const id of [rule, ...also]) {
      const tally = this.#tallies.get(id) ?? { passed: 0, failed: 0 };
      tally[outcome] += 1;
      this.#tallies.set(id, tally);
    }
  }

  /** Other backends may have written theirs: what they wrote stays. */
  #write(path: string, rules: Record<string, Tally>): void {
    const known: unknown = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
    const merged = { ...(typeof known === "object" ? known : {}), [this.#backend]: rules };
    const whole = `${path}.${process.pid}`;
    writeFileSync(whole, `${JSON.stringify(merged, null, 2)}\n`);
    renameSync(whole, path);
  }
}

const CHAPTERS = "LGFTPEOB";

const compareRules = (a: string, b: string): number =>
  CHAPTERS.indexOf(a[0] ?? "") - CHAPTERS.indexOf(b[0] ?? "") || Number(a.slice(1)) - Number(b.slice(1)) || (a < b ? -1 : 1);

const COLUMNS = 10;
const WIDTH = 12;

const table = (cells: readonly string[]): string => {
  const rows: string[] = [];
  for (let start = 0; start < cells.length; start += COLUMNS) {
    rows.push(
      cells
        .slice(start, start + COLUMNS)
        .map((cell) => cell.padEnd(WIDTH))
        .join("")
        .trimEnd(),
    );
  }
  return rows.join("\n");
};
