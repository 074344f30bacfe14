/**
 * Proof that a reader knows the token: in `Authorization`, or in a cookie that was given for it. The cookie carries no secret, but an end
 * and a signature by the token: it is worth nothing later, or where the token is another.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { parse, serialize } from "hono/utils/cookie";

/** How long a browser stays signed in, in seconds: a working day. */
const SESSION_SECONDS = 12 * 3_600;

export class Session {
  readonly #token: string;
  readonly #path: string;
  /** Browsers share cookies among the ports of a host, so each token has a name of its own. */
  readonly #name: string;

  constructor(token: string, path: string) {
    this.#token = token;
    this.#path = path;
    this.#name = `rheo_dashboard_${this.#sign("name").slice(0, 12)}`;
  }

  isHeldBy(request: Request, nowMs: number): boolean {
    const { headers } = request;
    const authorization = headers.get("authorization");
    if (authorization !== null) return this.#isBearer(authorization);
    return this.#isCookie(parse(headers.get("cookie") ?? "", this.#name)[this.#name] ?? "", nowMs);
  }

  /** A `Set-Cookie` for who has shown the token. */
  opened(isSecure: boolean, nowMs: number): string {
    const end = String(Math.floor(nowMs / 1_000) + SESSION_SECONDS);
    return this.#cookie(`${end}.${this.#sign(end)}`, SESSION_SECONDS, isSecure);
  }

  /** A `Set-Cookie` that takes it away. */
  closed(isSecure: boolean): string {
    return this.#cookie("", 0, isSecure);
  }

  #cookie(value: string, maxAge: number, secure: boolean): string {
    return serialize(this.#name, value, { path: this.#path, httpOnly: true, sameSite: "Strict", maxAge, secure });
  }

  #isBearer(authorization: string): boolean {
    const [, given = ""] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    return isSame(given, this.#token);
  }

  #isCookie(value: string, nowMs: number): boolean {
    const [end = "", signature = ""] = value.split(".");
    return isSame(signature, this.#sign(end)) && Number(end) * 1_000 > nowMs;
  }

  #sign(text: string): string {
    return createHmac("sha256", this.#token).update(`rheo-dashboard:${text}`).digest("hex");
  }
}

/** In a time that tells nothing, not even the length. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
