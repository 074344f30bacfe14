/** One browser that watches: gets the newest message, and the older ones only as fast as it takes them. */
export class Viewer {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** Waits for the reader; a newer one takes its place. */
  #pending: string | null = null;

  /** @param onGone - called once, when the browser has gone */
  constructor(onGone: () => void) {
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => {
        const text = this.#pending;
        this.#pending = null;
        if (text !== null) this.#controller?.enqueue(this.#encoder.encode(text));
      },
      cancel: () => {
        this.#controller = null;
        onGone();
      },
    });
  }

  /** Sends a message, or keeps it in place of the one that waits. */
  show(message: string): void {
    const controller = this.#controller;
    if (controller === null) return;
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(this.#encoder.encode(message));
    else this.#pending = message;
  }

  /** Sends something small if nothing waits anyway: so a connection that is dead is noticed, and one that lives is kept. */
  ping(message: string): void {
    if (this.#pending === null) this.show(message);
  }

  end(): void {
    this.#controller?.close();
    this.#controller = null;
  }
}
