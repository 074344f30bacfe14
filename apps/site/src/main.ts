/** `npm run docs [-- --serve [--port 4173]] [-- --watch]`: builds the site without network, shows it, or shows it while it is written. */
import { parseArgs } from "node:util";
import { build, createServer } from "vitepress";
import { writeApi } from "./api.ts";
import { checkSite } from "./check-site.ts";
import { HOME, SITE } from "./places.ts";
import { serveSite } from "./serve-site.ts";

const HOST = "127.0.0.1";

const { values } = parseArgs({
  options: { serve: { type: "boolean" }, watch: { type: "boolean" }, port: { type: "string", default: "4173" } },
});
const server = { host: HOST, port: Number(values.port) };

await writeApi();
if (values.watch === true) {
  const watching = await createServer(HOME, server);
  await watching.listen();
  watching.printUrls();
} else {
  await build(HOME);
  const pages = checkSite();
  console.log(`${pages} pages in ${SITE}, each link of which leads somewhere`);
  if (values.serve === true) console.log(`look at it: ${(await serveSite(server.port)).url}/ (Ctrl-C ends it)`);
}
