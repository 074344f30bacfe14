import { ack, type HandlerResult, handler, reject, retry } from "@rheo/runtime/handler";
import { orders } from "./orders.ts";
import { environment } from "./worker.ts";

/**
 * Tells the mail service to confirm an order. It may be told twice, when this thread or process dies between the mail and the ack. So it
 * is given what it needs to send one mail:
 *
 * - the id of the event as idempotency key: the same for each attempt;
 * - the fencing token: higher with each attempt, so that one which was frozen and comes late is refused.
 */
export default handler(
  async (event, { token, signal }): Promise<HandlerResult> => {
    const response = await fetch(environment("MAIL_URL"), {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": event.id, "fencing-token": String(token) },
      body: JSON.stringify({ recipient: event.payload.customer }),
      signal,
    });
    if (response.ok) return ack();
    const reason = `the mail service answered ${response.status}`;
    return response.status === 422 || response.status === 400 ? reject(reason) : retry(reason);
  },
  { stream: orders },
);
