/** Reset, replay and redrive: deliveries that were offered become pending again. The twin of `reopen` in core's progress (T1, T7, L10). */
import { LIMITS } from "@rheo/core/internal";
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";

/** Events or dead letters looked at by one script: what is more takes several, each atomic by itself. */
const PAGE = 1_000;

/** What the scripts below share. */
export const REOPEN: string = lua`
-- The first retained sequence that was ever offered to the group: it began there or later.
local function first_offered(place)
  return max(log_of(place.i).first, place.start + 1)
end

local function by_sequence(a, b)
  return a.sequence < b.sequence
end

-- Those leased by themselves whose sequences are above one, by sequence.
local function running_above(place, after)
  local found = {}
  local singles = running_exceptions(place, true)
  for k = 1, #singles do
    if singles[k].sequence > after then found[#found + 1] = singles[k] end
  end
  sort(found, by_sequence)
  return found
end

-- Removes all exceptions and dead letters above a sequence.
local function clear_above(place, after)
  call('ZREMRANGEBYSCORE', place.key .. ':dead', '(' .. int(after), '+inf')
  place.dead = call('ZCARD', place.key .. ':dead')
  if place.exceptions == 0 then return end
  local singles = running_above(place, after)
  for k = 1, #singles do set_alone(place, singles[k], 0) end
  local names = call('ZRANGEBYSCORE', place.key .. ':order', '(' .. int(after), '+inf')
  if #names > 0 then
    call_with('HDEL', place.key .. ':exceptions', names)
    call_with('ZREM', place.key .. ':order', names)
    call_with('ZREM', place.key .. ':waiting', names)
    call_with('ZREM', place.key .. ':running', names)
  end
  place.exceptions, place.changed = place.exceptions - #names, true
  place.found, place.lane = {}, {}
end

-- Exceptions carry the key only where the order of keys is kept.
local function unstarted(place, sequence, entry)
  return {
    sequence = sequence, state = 'p', attempt = 0, takeovers = 0, token = 0, alone = 0, leased = 0, due = 0,
    key = config.ordering == 'key' and field_of(entry, 'key') or nil,
  }
end

-- Puts it in the place of the exception that may be there.
local function replace_exception(place, x)
  local before = exception_at(place, x.sequence)
  if before then set_alone(place, before, 0) end
  put_exception(place, x)
end
`;

/**
 * ARGV: kind and text of the start. Answers `{ "ok", filtered, after, until, … }`: for each place what is open again; filtered: "1" when only
 * what the filter lets through counts. One token is spent, so that every token given before is at or below the floor.
 */
export const RESET: string = lua`
local missing = missing_group()
if missing then return { missing } end
local answer = { 'ok', config.filter ~= '' and 1 or 0 }
for i = 1, #KEYS do
  local place, log = place_of(i), log_of(i)
  local cursor, before = start_cursor(i, ARGV[${COMMON_ARGUMENTS + 1}], ARGV[${COMMON_ARGUMENTS + 2}]), place.cursor
  local gone = {}
  for k = 1, #KINDS do
    if KINDS[k] ~= ':members' then gone[#gone + 1] = place.key .. KINDS[k] end
  end
  call('UNLINK', unpack(gone))
  place.cursor, place.start, place.skipped, place.open, place.exceptions, place.alone, place.dead = cursor, cursor, 0, 0, 0, 0, 0
  place.token = place.token + 1
  place.reset = place.token
  place.expiry, place.due, place.changed = huge, huge, true
  flush_head(place)
  answer[#answer + 1] = max(cursor, log.first - 1)
  answer[#answer + 1] = cursor < before and before or max(cursor, log.first - 1)
end
return answer
`;

/**
 * Moves cursors back: one write however many deliveries that re-opens. ARGV: places wanted ("": all, else `,0,2,`), "after" or "time", the
 * sequence or time, "1" to answer `nothing` when no partition reaches that sequence, "1" to change nothing. Answers as RESET, or `{ "nothing" }`.
 */
export const REWIND: string = lua`
local missing = missing_group()
if missing then return { missing } end
local wanted, kind, value = ARGV[${COMMON_ARGUMENTS + 1}], ARGV[${COMMON_ARGUMENTS + 2}], tonumber(ARGV[${COMMON_ARGUMENTS + 3}])

local function is_wanted(i)
  return wanted == '' or find(wanted, ',' .. (i - 1) .. ',', 1, true)
end

local reached = kind == 'time' or ARGV[${COMMON_ARGUMENTS + 4}] ~= '1'
for i = 1, #KEYS do reached = reached or (is_wanted(i) and value <= log_of(i).high) end
if not reached then return { 'nothing' } end

local answer, is_dry = { 'ok', config.filter ~= '' and 1 or 0 }, ARGV[${COMMON_ARGUMENTS + 5}] == '1'
for i = 1, #KEYS do
  local place = place_of(i)
  local before, after = place.cursor, place.cursor
  if is_wanted(i) then
    after = min(before, max(kind == 'time' and sequence_at(i, value) - 1 or value, first_offered(place) - 1))
    if after < before and not is_dry then
      local rows, above = all_rows(place), { after + 1, huge }
      -- whoever replays has been told where records were missing: the count starts from what is there
      place.open = 0
      for k = 1, #rows do place.open = place.open + rows[k].open end
      for k = 1, #rows do
        local taken, kept = divide(rows[k].runs, above)
        if #taken > 0 then
          keep_open(place, rows[k], kept)
          revoke(place, rows[k].token, taken, 'X')
        end
      end
      local singles = running_above(place, after)
      for k = 1, #singles do revoke(place, singles[k].token, { singles[k].sequence, singles[k].sequence }, 'X') end
      clear_above(place, after)
      place.cursor, place.changed = after, true
      flush(place)
    end
  end
  answer[#answer + 1] = after
  answer[#answer + 1] = before
end
return answer
`;

/** Counts what the group's filter lets through. ARGV: after, until. Answers `{ "ok", count, last looked at }`. Looks at a page of events. */
export const COUNT_OFFERED: string = lua`
local missing = missing_group()
if missing then return { missing } end
local filter, after, last = config.filter, tonumber(ARGV[${COMMON_ARGUMENTS + 1}]), tonumber(ARGV[${COMMON_ARGUMENTS + 2}])
local matches = filter == '' and function() return true end or matcher_of(filter)
after = max(after, log_of(1).first - 1)
local page, count = slice(1, after, last, ${PAGE}, ${LIMITS.fetchBytes}), 0
for k = 1, #page do
  if matches(page[k]) then count = count + 1 end
end
return { 'ok', count, #page == 0 and last or after + #page }
`;

/**
 * Re-opens what a query matches, in a page of events. ARGV: after, until, program ("": all), from and to in ms ("": open), "1" only to count.
 * Answers `{ "ok", count, last looked at, until }`.
 */
export const REPLAY_PAGE: string = lua`
local missing = missing_group()
if missing then return { missing } end
local place = place_of(1)
local given = ${COMMON_ARGUMENTS}
local after, last = max(tonumber(ARGV[given + 1]), first_offered(place) - 1), min(tonumber(ARGV[given + 2]), place.cursor)
local program, from, to = ARGV[given + 3], tonumber(ARGV[given + 4]) or -huge, tonumber(ARGV[given + 5]) or huge
local matches = program ~= '' and matcher_of(program)
local passes = config.filter ~= '' and matcher_of(config.filter)
local page = slice(1, after, last, ${PAGE}, ${LIMITS.fetchBytes})
local owners, rows, count, is_dry = {}, all_rows(place), 0, ARGV[given + 6] == '1'
for k = 1, #rows do
  local sequences = sequences_of(rows[k].runs)
  for n = 1, #sequences do owners[sequences[n]] = rows[k] end
end
local has_letters = call('EXISTS', place.key .. ':dead') == 1
for k = 1, #page do
  local entry, sequence = page[k], after + k
  local at = at_of(entry)
  local selected = at >= from and at < to and (not matches or matches(entry)) and (not passes or passes(entry))
  if selected then count = count + 1 end
  if selected and not is_dry then
    local row, x = owners[sequence], exception_at(place, sequence)
    if row then
      local taken, kept = divide(row.runs, { sequence, sequence })
      keep_open(place, row, kept)
      revoke(place, row.token, taken, 'X')
    end
    if x and x.state == 'l' then revoke(place, x.token, { sequence, sequence }, 'X') end
    if has_letters then count_letters(place, -call('ZREMRANGEBYSCORE', place.key .. ':dead', sequence, sequence)) end
    replace_exception(place, unstarted(place, sequence, entry))
  end
end
flush(place)
return { 'ok', count, #page == 0 and last or after + #page, last }
`;

/**
 * Dead letters become pending, or go for good; those whose event was trimmed can only go. A page of them, or those given. ARGV: after,
 * program ("": all), "1" to purge, ids of events that alone are meant as JSON ("": all), sequences that alone are looked at as `5,7` ("": a page).
 * Answers `{ "ok", count, last looked at, "1" when there may be more }`.
 */
export const REDRIVE_PAGE: string = lua`
local missing = missing_group()
if missing then return { missing } end
local place = place_of(1)
local given = ${COMMON_ARGUMENTS}
local after, program, purge, ids, only = tonumber(ARGV[given + 1]), ARGV[given + 2], ARGV[given + 3] == '1', ARGV[given + 4], ARGV[given + 5]
local matches = program ~= '' and matcher_of(program)
local key, texts = place.key .. ':dead', {}
if only ~= '' then
  for sequence in gmatch(only, '%d+') do texts[#texts + 1] = call('ZRANGEBYSCORE', key, sequence, sequence)[1] end
else texts = call('ZRANGEBYSCORE', key, '(' .. int(after), '+inf', 'LIMIT', 0, ${PAGE}) end
local meant
if ids ~= '' then
  meant = {}
  local list = cjson.decode(ids)
  for k = 1, #list do meant[list[k]] = true end
end
local letters, sequences, gone = {}, {}, {}
for k = 1, #texts do
  letters[k] = letter_of_text(texts[k])
  sequences[k] = letters[k].sequence
end
local entries = events_by_sequence(1, sequences)
for k = 1, #letters do
  local entry = entries[sequences[k]]
  local selected = (not meant or meant[letters[k].id]) and (not matches or (entry and matches(entry)))
  if selected and (entry or purge) then
    gone[#gone + 1] = texts[k]
    if not purge then replace_exception(place, unstarted(place, sequences[k], entry)) end
  end
end
if #gone > 0 then count_letters(place, -call_with('ZREM', key, gone)) end
flush(place)
return { 'ok', #gone, sequences[#sequences] or after, only == '' and #texts == ${PAGE} and 1 or 0 }
`;
