/** The double as a process of its own: `node main.js PORT JOURNAL [sync]`. It says "ready" once it takes connections. */
import { createServer } from "node:net";
import { Server } from "./server.ts";
import { Connection } from "./wire/connection.ts";

const [port = "", journal = "", sync] = process.argv.slice(2);
const server = new Server({ port: Number(port), journal, sync: sync === "sync" });

createServer((socket) => void new Connection(server, socket)).listen(Number(port), "127.0.0.1", () => console.log("ready"));
