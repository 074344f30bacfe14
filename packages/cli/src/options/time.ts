import { systemClock } from "@rheo/core";
import { InvalidArgumentError } from "commander";
import { duration } from "./numbers.ts";

const DATE = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}|$)/;

/** An option that is a moment: ISO 8601, or a duration such as 15m, which means that long ago. Without a zone a date is UTC, a time local. */
export const moment = (text: string): Date => {
  if (DATE.test(text)) {
    const date = new Date(text);
    if (Number.isFinite(date.getTime())) return date;
  } else if (/^\d+(\.\d+)?[a-z]+$/.test(text)) return new Date(systemClock.now() - duration(text));
  throw new InvalidArgumentError("Give a time such as 2026-01-31T12:00:00Z, or 15m for that long ago.");
};
