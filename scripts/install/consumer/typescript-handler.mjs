/** A handler in TypeScript, run as it is: by Node 22 and newer itself, on Node 20 by the tsx that the project has. */
import { Rheo } from "@rheo/core";
import { defineConsumer, supervise } from "@rheo/runtime";

const rheo = await Rheo.open("sqlite:./typescript.db");
await rheo.ensureStream("prices", { partitions: 1 });
await rheo.append("prices", { key: "EUR-6M", payload: { price: 2.913 } });
const risk = defineConsumer({
  stream: "prices",
  group: "risk",
  handler: new URL("./risk.handler.ts", import.meta.url),
  createGroup: {},
});
const app = await supervise({ rheo, consumers: [risk], threads: 1 });
await rheo.whenCaughtUp("prices", "risk");
console.log(await rheo.lag("prices", "risk").then(({ lag }) => `lag ${lag}`));
await app.stop();
await rheo.close();
