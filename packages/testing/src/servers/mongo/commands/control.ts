/** `rheoDouble`: the controls of tests, which no real server has. */
import { Double } from "bson";
import type { Clock } from "../clock.ts";
import { CommandError } from "../errors.ts";
import { isNumeric, toNumber } from "../values/document.ts";
import { docOf } from "../values/expect.ts";
import type { Command } from "./request.ts";

export const rheoDouble: Command = ({ server, body }) => {
  const { rheoDouble: action, value } = body;
  switch (action) {
    case "fault":
      server.faults.add(value);
      return {};
    case "clearFaults":
      server.faults.clear();
      return {};
    case "stepDown":
      server.stepDown(numberOf(value));
      return {};
    case "time":
      setTime(server.clock, value);
      return {};
    case "lifetime":
      server.sessions.lifetimeMs = numberOf(value);
      return {};
    case "openTransactions":
      return { count: new Double([...server.store.openTransactions].length) };
    default:
      throw new CommandError(2, `rheoDouble does not know "${String(action)}"`);
  }
};

const numberOf = (value: unknown): number => {
  if (!isNumeric(value)) throw new CommandError(14, "a number of milliseconds is needed");
  return toNumber(value);
};

const setTime = (clock: Clock, value: unknown): void => {
  const { offsetMs, atMs } = docOf(value, "value");
  if (atMs === undefined) clock.shift(numberOf(offsetMs));
  else clock.hold(numberOf(atMs));
};
