/** Version 2: functions that tell of events, partitions and cursors that are not there, and refuse a lease that no fetch wrote. No table changes. */
export const MISSING_EVENTS = "-- version 2: functions alone";
