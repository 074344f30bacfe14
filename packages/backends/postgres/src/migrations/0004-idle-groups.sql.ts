/** Version 4: claimable(), which looks at many groups at once. No table changes. */
export const IDLE_GROUPS = "-- version 4: functions alone";
