import type { Label } from "./catalogue/metric.ts";

/** Values of labels. The same values are always the same object, so that whoever counts by them may look them up by identity. */
export type Labels = Readonly<Partial<Record<Label, string>>>;

/** Takes the place of a stream or a group beyond the bound. No name begins with an underscore (L9), so it hides nobody. */
export const OTHER = "_other";

export const NO_LABELS: Labels = Object.freeze({});
const OTHER_STREAM: Labels = Object.freeze({ stream: OTHER });
const OTHER_GROUP: Labels = Object.freeze({ stream: OTHER, group: OTHER });

/**
 * Labels by the names of streams and groups, so many of each at most: those seen later share `_other`. A group that is deleted keeps
 * its place, since what was counted for it stays.
 */
export class LabelSets {
  readonly #most: number;
  readonly #onOverflow: () => void;
  readonly #streams = new Map<string, Labels>();
  readonly #groups = new Map<string, Labels>();
  readonly #more = new Map<Labels, Map<string, Labels>>();

  /** @param onOverflow - called each time that a name finds no place */
  constructor(most: number, onOverflow: () => void) {
    this.#most = most;
    this.#onOverflow = onOverflow;
  }

  /** Groups seen so far. */
  get groups(): Iterable<Labels> {
    return this.#groups.values();
  }

  ofStream(stream: string): Labels {
    return this.#find(this.#streams, stream, { stream }, OTHER_STREAM);
  }

  ofGroup(stream: string, group: string): Labels {
    return this.#find(this.#groups, `${stream}/${group}`, { stream, group }, OTHER_GROUP);
  }

  /** By whichever of the two names are given; empty stands for none. */
  of(stream: string, group: string): Labels {
    if (stream === "") return NO_LABELS;
    return group === "" ? this.ofStream(stream) : this.ofGroup(stream, group);
  }

  /** The same with one more; its values are few. */
  with(labels: Labels, name: Label, value: string): Labels {
    const known = this.#more.get(labels) ?? new Map<string, Labels>();
    this.#more.set(labels, known);
    const key = `${name}=${value}`;
    const found = known.get(key) ?? Object.freeze({ ...labels, [name]: value });
    known.set(key, found);
    return found;
  }

  #find(known: Map<string, Labels>, key: string, labels: Labels, other: Labels): Labels {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= this.#most) {
      this.#onOverflow();
      return other;
    }
    const made = Object.freeze(labels);
    known.set(key, made);
    return made;
  }
}
