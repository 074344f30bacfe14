/** A page that cannot be run as it is written. */
export class PageError extends Error {
  override readonly name = "PageError";

  /** The same, with where it is. */
  at(page: string, line: number): PageError {
    return new PageError(`${page}:${line} ${this.message}`);
  }
}
