import type { ProcessEvent } from "@rheo/runtime";
import { type Colors, colorsFor, type Io } from "../io.ts";
import type { StartPrinter } from "./printer.ts";

/** Lines for people: those of a process with its name and pid before them, those of the parent with "rheo". */
export const textPrinter = (io: Io): StartPrinter => {
  const out = colorsFor(io.stdout, io.env);
  const err = colorsFor(io.stderr, io.env);
  const info = (text: string): void => void io.stdout.write(`${out.dim("rheo |")} ${text}\n`);
  const warn = (text: string): void => void io.stderr.write(`${err.yellow("rheo |")} ${text}\n`);
  return {
    event: (event) => {
      const { isWarning, text } = describe(event);
      (isWarning ? warn : info)(text);
    },
    line: ({ child, pid, stream, text }) => {
      const prefix = colorOf(stream === "stdout" ? out : err, child)(`${child}/${pid} |`);
      io[stream].write(`${prefix} ${text}\n`);
    },
    info,
    warn,
    ready: (processes) => info(out.green(`ready: ${processes} ${processes === 1 ? "process" : "processes"}`)),
  };
};

const HUES = ["cyan", "magenta", "blue", "green"] as const;

const colorOf = (colors: Colors, child: string): ((text: string) => string) => {
  const number = Number(/\d+$/.exec(child)?.[0] ?? 0);
  return colors[HUES[number % HUES.length] ?? "cyan"];
};

interface Described {
  readonly isWarning: boolean;
  readonly text: string;
}

const describe = (event: ProcessEvent): Described => {
  switch (event.type) {
    case "child.started":
      return said(`${event.child} started, pid ${event.pid}`);
    case "child.ready":
      return said(`${event.child} is ready, pid ${event.pid} (${event.ready} of ${event.processes})`);
    case "child.draining":
      return said(`${event.child} drains, pid ${event.pid}`);
    case "child.waiting":
      return warned(`${event.child} waits for the store: ${event.reason}`);
    case "child.unresponsive":
      return warned(`${event.child} is killed, pid ${event.pid}: no sign of life for ${Math.round(event.silentMs)} ms`);
    case "child.failed":
      return warned(`${event.child} failed, pid ${event.pid}: ${event.error.message}`);
    case "child.restarting":
      return warned(`${event.child} is started again in ${event.inMs} ms (restart ${event.restarts})`);
    case "child.stopped":
      return event.drained
        ? said(`${event.child} has drained, pid ${event.pid}`)
        : warned(`${event.child} ended before it had drained, pid ${event.pid}: ${event.reason}`);
    case "restart.started":
      return said(`replacing ${event.processes} processes, one at a time`);
    case "restart.finished":
      return said("all processes are replaced");
    case "restart.abandoned":
      return warned(
        `no more processes are replaced, because the new ${event.child} did not become ready: ${event.error.message}`,
      );
    case "supervisor.escalated":
      return warned(`${event.child} failed ${event.restarts + 1} times and is given up: ${event.error.message}`);
    case "supervisor.draining":
      return said(`draining, for at most ${event.timeoutMs} ms`);
    case "supervisor.drained":
      return event.drained ? said("drained") : warned("ended before everything was drained");
    default:
      return event satisfies never;
  }
};

const said = (text: string): Described => ({ isWarning: false, text });
const warned = (text: string): Described => ({ isWarning: true, text });
