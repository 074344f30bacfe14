/** Aborts when this process is told to end, or its parent has ended. */
export const untilTold = (): AbortSignal => {
  const controller = new AbortController();
  for (const event of ["SIGTERM", "SIGINT", "disconnect"]) {
    process.once(event, () => {
      controller.abort();
      if (process.connected) process.disconnect(); // the channel to the parent would keep this process
    });
  }
  return controller.signal;
};

/** @throws when it is not set */
export const environment = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`Set ${name}.`);
  return value;
};
