/** A promise with its ends apart. (`Promise.withResolvers` needs Node 22.) */
export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

export const deferred = <Value = void>(): Deferred<Value> => {
  let ends: Omit<Deferred<Value>, "promise"> | undefined;
  const promise = new Promise<Value>((resolve, reject) => {
    ends = { resolve, reject };
  });
  if (ends === undefined) throw new Error("The executor of a promise runs at once.");
  return { promise, ...ends };
};
