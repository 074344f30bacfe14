/** The command `rheo`. */
import { main } from "./main.ts";

/** What a user's code keeps open is not waited for longer than this, in ms. */
const LINGER_MS = 500;

// nobody reads on, as with `| head`: what runs goes on without being heard
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

const code = await main(process.argv.slice(2));
process.exitCode = code;
setTimeout(() => process.exit(code), LINGER_MS).unref();
