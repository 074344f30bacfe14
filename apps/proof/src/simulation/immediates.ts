/**
 * The turns of the event loop, without the loop: a seed needs a thousand of them, and none of its own I/O. While a simulation runs,
 * `setImmediate` queues here, and is called in the order in which Node would.
 */
type Work = () => void;

const real = { setImmediate: globalThis.setImmediate, clearImmediate: globalThis.clearImmediate };

/** What stands for a handle: asked for nothing but to be cleared. */
class Immediate {
  work: Work | null;

  constructor(work: Work) {
    this.work = work;
  }
}

let queue: Immediate[] = [];
/** Those of this turn that are still to come, last first. */
let due: Immediate[] = [];
let isTurning = false;
let installed = 0;

/** Runs `work` with immediates that need no event loop. */
export const withoutEventLoop = async <Value>(work: () => Promise<Value>): Promise<Value> => {
  install();
  try {
    return await work();
  } finally {
    uninstall();
    // whoever waits for a socket or a real timer has not had a turn meanwhile
    await new Promise((resolve) => void real.setImmediate(resolve));
  }
};

/** What follows without an immediate has run when it resolves, and so have the immediates that were there before. */
export const turn = (): Promise<void> => new Promise((resolve) => void queued(resolve));

/** Whether something is ready to run that needs no timer. For the moment after a turn. */
export const isReady = (): boolean => queue.length > 0 || due.length > 0;

const install = (): void => {
  installed += 1;
  if (installed > 1) return;
  globalThis.setImmediate = Object.assign(queued, {
    __promisify__: real.setImmediate.__promisify__,
  }) as unknown as typeof setImmediate; // nobody asks more of a handle
  globalThis.clearImmediate = ((handle: unknown) => {
    if (handle instanceof Immediate) handle.work = null;
  }) as typeof clearImmediate;
};

const uninstall = (): void => {
  installed -= 1;
  if (installed === 0) Object.assign(globalThis, real);
};

const queued = (work: Work): Immediate => {
  const immediate = new Immediate(work);
  queue.push(immediate);
  if (!isTurning) {
    isTurning = true;
    afterMicrotasks(next);
  }
  return immediate;
};

/** One after another, each with all that follows from it; what they queue is for the next turn. */
const next = (): void => {
  if (due.length === 0) [due, queue] = [queue.reverse(), due];
  const immediate = due.pop();
  isTurning = immediate !== undefined;
  if (immediate === undefined) return;
  immediate.work?.();
  afterMicrotasks(next);
};

/** A tick that is asked for from a microtask comes when no microtask is left. */
const afterMicrotasks = (work: Work): void => void Promise.resolve().then(() => process.nextTick(work));
