/** Names this package to OpenTelemetry. */
export const SCOPE = "@rheo/telemetry";
