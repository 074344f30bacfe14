import { RheoError } from "@rheo/core";

/** A provider of the OpenTelemetry API, or null when absent. @throws invalid_option */
export const parseProvider = <Provider>(name: string, value: unknown, method: "getMeter" | "getTracer"): Provider | null => {
  if (value === undefined) return null;
  if (typeof value === "object" && value !== null && method in value) return value as Provider; // what is used of it
  throw new RheoError("invalid_option", `${name} has a method ${method}, as the providers of OpenTelemetry do.`, { path: name });
};
