/** The functions that every migration installs anew, in the order in which they can be made. */
import * as append from "./append.sql.ts";
import * as catalog from "./catalog.sql.ts";
import * as claim from "./claim.sql.ts";
import * as claimable from "./claimable.sql.ts";
import * as common from "./common.sql.ts";
import * as fetch from "./fetch.sql.ts";
import * as filter from "./filter.sql.ts";
import * as inspect from "./inspect.sql.ts";
import * as lastChance from "./last-chance.sql.ts";
import * as missing from "./missing.sql.ts";
import * as pass from "./pass.sql.ts";
import * as records from "./records.sql.ts";
import * as renew from "./renew.sql.ts";
import * as reopen from "./reopen.sql.ts";
import * as replay from "./replay.sql.ts";
import * as search from "./search.sql.ts";
import * as settle from "./settle.sql.ts";
import * as settleOutcomes from "./settle-outcomes.sql.ts";
import * as settleWithin from "./settle-within.sql.ts";
import * as takeDue from "./take-due.sql.ts";
import * as takeExpired from "./take-expired.sql.ts";
import * as takeNew from "./take-new.sql.ts";
import * as trim from "./trim.sql.ts";

/** SQL functions are checked when they are made, so what they call comes first. */
export const FUNCTIONS: readonly string[] = [
  common.MS,
  common.MOMENT,
  common.SEQUENCES,
  common.SIZE_OF,
  common.RANGES_OF,
  common.REFUSE_LEASE,
  common.OPEN_OF,
  common.EVENT_AT,
  common.HIGH_WATERMARK,
  common.SEQUENCE_AT,
  common.FIND_GROUP,
  common.MISSING,
  common.HEAD_OF,
  records.KEEP_OPEN,
  missing.SKIP,
  missing.SKIP_IN_GRANT,
  records.FOLD,
  records.HOLD,
  records.HOLD_ALL,
  records.REVOKE,
  records.BURY,
  records.REOPEN,
  records.TOUCH_MEMBER,
  settleOutcomes.WHY_STALE,
  settle.CLOSE_POSITIONS,
  settleOutcomes.LEAVE_RANGE,
  settleOutcomes.SETTLE_EXCEPTIONS,
  settle.RUNS_OF,
  settle.SETTLE_REST,
  settle.SETTLE_ALL,
  settleWithin.SETTLE_WITHIN,
  filter.COMPARISON,
  filter.OWN_PATH,
  filter.FILTER_VALUE,
  filter.COLUMN_SQL,
  filter.FILTER_SQL,
  pass.IS_OPEN,
  pass.GRANT_IN,
  pass.TOKEN_IN,
  pass.EXPIRE_IN,
  lastChance.IS_SEARCHING,
  lastChance.ATTEMPT_OF,
  lastChance.LAST_CHANCE,
  takeExpired.MOVE_LEASE,
  takeExpired.TAKE_EXPIRED,
  takeDue.TAKE_DUE,
  takeNew.LEASE_NEW,
  takeNew.IS_CROWDED,
  takeNew.TAKE_NEW,
  claim.FREE_OF,
  claim.VISIT,
  pass.PUT_CURSOR,
  lastChance.CLEAR_ALONE,
  lastChance.MARK_CHANCES,
  claim.CLAIM,
  fetch.SURVEY,
  fetch.SURVEY_PLAIN,
  fetch.GRANT_HEADER,
  fetch.EXCHANGE,
  claimable.CLAIMABLE,
  search.HEADER,
  search.SEARCH,
  search.INDEX_EXPRESSION,
  search.NAME_PATH,
  append.NOTE_LARGEST,
  append.APPEND_HOPEFULLY,
  append.STORED,
  append.APPEND_ONE,
  append.APPEND_TO_ONE,
  append.APPEND,
  renew.RENEW_RANGE,
  renew.RENEW,
  reopen.START_CURSOR,
  replay.COUNT_OFFERED,
  replay.TAKE_BACK,
  replay.OFFERED_AFTER,
  replay.REWIND,
  replay.REPLAY,
  reopen.RESET,
  reopen.REDRIVE,
  trim.TRIM_PROGRESS,
  trim.TRIM,
  catalog.CREATE_STREAM,
  catalog.COLUMNS_OF,
  catalog.CREATE_GROUP,
  catalog.UPDATE_GROUP,
  catalog.REMOVE_GROUP,
  catalog.DELETE_GROUP,
  catalog.DELETE_STREAM,
  inspect.STATE_OF,
  inspect.PROGRESS_OF,
  inspect.STATS_OF,
  inspect.HOLDERS_OF,
  inspect.LEASES_OF,
  inspect.DEAD_LETTERS_OF,
  inspect.DELIVERY_OF,
];
