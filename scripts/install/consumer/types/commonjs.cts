/** The same packages from a CommonJS module. */
import rheo = require("@rheo/core");
import runtime = require("@rheo/runtime");

export const open = (): Promise<rheo.Rheo> => rheo.Rheo.open("memory:");
export const consumer: runtime.ConsumerDefinition = runtime.defineConsumer({
  stream: "prices",
  group: "risk",
  handler: new URL("file:///app/risk.handler.mjs"),
});
