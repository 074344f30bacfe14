import type { FrameAncestors } from "../options.ts";

const policyOf = (frameAncestors: FrameAncestors): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors '${frameAncestors}'`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");

/** What every answer says to the browser: run our own script and style, talk to us alone, be shown in nobody's frame, or in our own. */
export const securityHeaders = (frameAncestors: FrameAncestors): Readonly<Record<string, string>> => ({
  "content-security-policy": policyOf(frameAncestors),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": frameAncestors === "self" ? "SAMEORIGIN" : "DENY",
});

/** For what changes or is nobody else's business: all but the built assets. */
export const NO_STORE = "no-store";
