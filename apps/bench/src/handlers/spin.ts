import { handler } from "@rheo/runtime/handler";

/** Keeps its thread busy for as many ms as the payload says. */
export default handler((event) => {
  const endMs = performance.now() + Number(event.payload);
  while (performance.now() < endMs);
});
