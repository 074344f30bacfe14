/** A walkthrough as it is read in a terminal. */
import { counted } from "../output/format.ts";
import { inert } from "../output/inert.ts";
import type { Printer } from "../output/printer.ts";
import type { Step } from "./block.ts";
import { shortName } from "./catalog.ts";
import type { Expected } from "./expected.ts";
import type { Page } from "./page.ts";
import type { Outcome } from "./page-run.ts";
import { prose } from "./prose.ts";
import type { Teller } from "./teller.ts";

export class TextTeller implements Teller {
  readonly #print: Printer;

  constructor(print: Printer) {
    this.#print = print;
  }

  began(page: Page, folder: string): void {
    const runs = page.steps.filter(({ kind }) => kind === "code" || kind === "commands").length;
    this.#say(this.#colors.dim(inert(`${counted(runs, "block")} to run, in ${folder}`)));
  }

  shows(step: Step): void {
    switch (step.kind) {
      case "prose":
        return this.#say(prose(step.text, this.#print.screen));
      case "file":
      case "shown":
        return this.#say(this.#marked(step.code.trimEnd(), "  ", this.#colors.blue));
      case "commands":
      case "code":
        this.#say(this.#marked(step.code, "> ", this.#colors.blue));
        return step.expected === null ? undefined : this.#expects(step.expected);
      default:
        return step satisfies never;
    }
  }

  ran(_step: Step, { output, difference }: Outcome): void {
    const { green, red } = this.#colors;
    if (output !== "") this.#say(`It printed:\n${this.#marked(output.trimEnd(), "| ", (text) => text)}`);
    this.#say(difference === null ? green("As expected.") : red(lines(difference).join("\n")));
  }

  ended(page: Page, blocks: number): void {
    this.#say(this.#colors.dim(inert(`The end of ${shortName(page)}: ${counted(blocks, "block")}, each as expected.`)));
  }

  get #colors(): Printer["screen"]["colors"] {
    return this.#print.screen.colors;
  }

  #expects({ lines: expected, code, isAnyOrder }: Expected): void {
    const what = `Expect${isAnyOrder ? ", in any order" : ""}${code === 0 ? "" : `, and exit code ${code}`}:`;
    if (expected.length > 0) this.#say(`${what}\n${this.#marked(expected.join("\n"), "  ", this.#colors.dim)}`);
  }

  #marked(text: string, mark: string, paint: (text: string) => string): string {
    return lines(text)
      .map((line) => `${this.#colors.dim(mark)}${paint(line)}`.trimEnd())
      .join("\n");
  }

  /** With an empty line after it. */
  #say(text: string): void {
    this.#print.text(`${text}\n`);
  }
}

const lines = (text: string): readonly string[] => text.split("\n").map(inert);
