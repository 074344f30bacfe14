/** What the driver is told of an error: whether the whole transaction, or this write, is worth another try. */
import type { Request } from "./request.ts";

const TRANSIENT = [24, 112, 246, 251];
const RETRYABLE = [6, 7, 89, 91, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436];

export const labelsOf = ({ body, name }: Request, code: number): readonly string[] => {
  const isEnd = name === "commitTransaction" || name === "abortTransaction";
  if (body.txnNumber === undefined) return [];
  if (body.autocommit !== false || isEnd) {
    if (RETRYABLE.includes(code)) return ["RetryableWriteError"];
    return isEnd && (code === 251 || code === 112) ? ["TransientTransactionError"] : [];
  }
  return TRANSIENT.includes(code) || RETRYABLE.includes(code) ? ["TransientTransactionError"] : [];
};
