/** A promise with its ends apart. (`Promise.withResolvers` needs Node 22.) */
export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
}

export const deferred = <Value = void>(): Deferred<Value> => {
  let resolve: ((value: Value) => void) | undefined;
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  if (resolve === undefined) throw new Error("The executor of a promise runs at once.");
  return { promise, resolve };
};
