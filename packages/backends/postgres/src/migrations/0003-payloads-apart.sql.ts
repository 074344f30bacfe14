/** Version 3: append() takes payloads and metadata as texts. No table changes. */
export const PAYLOADS_APART = "-- version 3: functions alone";
