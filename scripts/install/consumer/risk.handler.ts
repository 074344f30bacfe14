import { type Event, handler, type Outcome, retry } from "@rheo/runtime/handler";

interface Price {
  readonly price: number;
}

export default handler<Price>((event: Event<Price>): Outcome | undefined => {
  if (event.payload.price <= 0) return retry("no price yet", { delayMs: 5_000 });
  console.log(`${event.key} ${event.payload.price}`);
  return undefined;
});
