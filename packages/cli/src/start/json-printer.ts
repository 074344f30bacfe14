import type { ProcessEvent } from "@rheo/runtime";
import type { Io } from "../io.ts";
import type { StartPrinter } from "./printer.ts";

/** A JSON object on each line: `type` is that of an event of the process supervisor, or "line", "info", "warn" or "ready". */
export const jsonPrinter = ({ stdout }: Io, now: () => number): StartPrinter => {
  const print = (value: object): void => void stdout.write(`${JSON.stringify(value)}\n`);
  return {
    event: (event) => print(plain(event)),
    line: (line) => print({ type: "line", atMs: now(), ...line }),
    info: (text) => print({ type: "info", atMs: now(), text }),
    warn: (text) => print({ type: "warn", atMs: now(), text }),
    ready: (processes) => print({ type: "ready", atMs: now(), processes }),
  };
};

const plain = (event: ProcessEvent): object => ("error" in event ? { ...event, error: event.error.message } : event);
