/** Looking at progress: the twin of `inspect` in core's progress. Nothing here writes (P4). */
import { LIMITS } from "@rheo/core/internal";
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";

/** Where the frontier is: one below the least that is open, or the cursor if nothing is. Cost: the batches in flight. */
export const FRONTIER: string = lua`
local function frontier_of(place)
  local lowest = place.cursor + 1
  local rows = all_rows(place)
  if rows[1] then lowest = min(lowest, rows[1].runs[1]) end
  if place.exceptions > 0 then lowest = min(lowest, tonumber(call('ZRANGE', place.key .. ':order', 0, 0)[1]) or huge) end
  return lowest - 1
end
`;

/** Where one delivery stands: `state`, and for those that have one attempt, token, consumer, leased, expires; or due, failed; and last error. */
export const STATE: string = lua`
local function state_of(place, sequence)
  local rows = all_rows(place)
  for k = 1, #rows do
    local row = rows[k]
    if holds(row.runs, sequence) then
      return { row.expires > now and 'leased' or 'expired', row.attempt, row.token, row.consumer, row.leased, row.expires, '' }
    end
  end
  local x = exception_at(place, sequence)
  if x then
    local reason = x.reason and '=' .. x.reason or ''
    if x.state == 'l' then
      return { x.due > now and 'leased' or 'expired', x.attempt, x.token, x.consumer or '', x.leased, x.due, reason }
    end
    if x.state == 'r' then return { 'retrying', x.attempt, x.due, x.failed or 0, reason } end
    if x.state == 'p' then return { 'pending', x.attempt, reason } end
    return { 'parked' }
  end
  local letter = letter_at(place, sequence)
  if letter then return { 'dead', letter.attempts, letter.dead, letter.reason } end
  return { sequence > place.cursor and 'undelivered' or 'settled' }
end
`;

/** Answers `{ "ok", first, high, frontier, skipped, leased by the head's count but by no record, dead letters of which that is true, … }`. */
export const PROGRESS: string = lua`
local missing = missing_group()
if missing then return { missing } end
local answer = { 'ok' }
for i = 1, #KEYS do
  local place, log, n = place_of(i), log_of(i), #answer
  local rows, lost = all_rows(place), place.open
  for k = 1, #rows do lost = lost - rows[k].open end
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = log.first, log.high, max(frontier_of(place), log.first - 1), place.skipped
  answer[n + 5], answer[n + 6] = lost, letters_lost(place)
end
return answer
`;

/** Answers `{ "ok", now, lease, retrying, dead, oldest unsettled (""), { consumer, leases, … }, { consumer, last seen, … } }`. */
export const STATS: string = lua`
local missing = missing_group()
if missing then return { missing } end
local retrying, dead, oldest, held, members = 0, 0, huge, {}, {}
for i = 1, #KEYS do
  local place = place_of(i)
  local rows, singles = all_rows(place), running_exceptions(place)
  for k = 1, #rows do
    if rows[k].expires > now then held[rows[k].consumer] = (held[rows[k].consumer] or 0) + rows[k].open end
  end
  for k = 1, #singles do held[singles[k].consumer or ''] = (held[singles[k].consumer or ''] or 0) + 1 end
  retrying = retrying + call('ZCOUNT', place.key .. ':waiting', '(0', '+inf')
  dead = dead + call('ZCARD', place.key .. ':dead')
  local entry = events_at(i, { frontier_of(place) + 1 }, huge)[1]
  if entry then oldest = min(oldest, at_of(entry)) end
  local seen = call('ZRANGE', place.key .. ':members', 0, -1, 'WITHSCORES')
  for k = 1, #seen do members[#members + 1] = seen[k] end
end
local holding = {}
for consumer, leases in pairs(held) do
  holding[#holding + 1] = consumer
  holding[#holding + 1] = leases
end
return { 'ok', now, config.lease, retrying, dead, oldest == huge and '' or int(oldest), holding, members }
`;

/** Answers `{ "ok", place, sequence, high, state, … }` for each partition with lag. */
export const HOLDERS: string = lua`
local missing = missing_group()
if missing then return { missing } end
local answer = { 'ok' }
for i = 1, #KEYS do
  local place, log, n = place_of(i), log_of(i), #answer
  local frontier = max(frontier_of(place), log.first - 1)
  if frontier < log.high then
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = i - 1, frontier + 1, log.high, state_of(place, frontier + 1)
  end
end
return answer
`;

/** ARGV: limit. Answers `{ "ok", place, sequence, token, attempt, consumer, leased, expires, … }`, by place and sequence. */
export const LEASE_RECORDS: string = lua`
local missing = missing_group()
if missing then return { missing } end
local answer, left = { 'ok' }, tonumber(ARGV[${COMMON_ARGUMENTS + 1}])
for i = 1, #KEYS do
  local place, here = place_of(i), {}
  local rows, singles = all_rows(place), running_exceptions(place, true)
  for k = 1, #rows do
    local sequences = sequences_of(rows[k].runs, left)
    for n = 1, #sequences do here[#here + 1] = { sequences[n], rows[k], rows[k].expires } end
  end
  for k = 1, #singles do here[#here + 1] = { singles[k].sequence, singles[k], singles[k].due } end
  sort(here, function(a, b) return a[1] < b[1] end)
  for k = 1, min(#here, left) do
    local sequence, record, expires = unpack(here[k])
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = i - 1, sequence, record.token, record.attempt
    answer[n + 5], answer[n + 6], answer[n + 7] = record.consumer or '', record.leased, expires
  end
  left = left - min(#here, left)
  if left == 0 then break end
end
return answer
`;

/** How many dead letters each place has, and how many more the head counts: `{ "ok", count, lost, … }`. */
export const COUNT_LETTERS: string = lua`
local missing = missing_group()
if missing then return { missing } end
local answer = { 'ok' }
for i = 1, #KEYS do
  local place, n = place_of(i), #answer
  answer[n + 1], answer[n + 2] = call('ZCARD', place.key .. ':dead'), letters_lost(place)
end
return answer
`;

/** Dead letters looked at by one script. */
const LETTERS_PAGE = LIMITS.pageSize;

/**
 * A page of dead letters by sequence. ARGV: after, limit, program ("": all). Answers `{ "ok", last looked at, "1" when there may be more,
 * sequence, id, attempts, reason, stack (""), consumer, first failed, dead, line of the event (""), … }`.
 */
export const LETTERS_OF: string = lua`
local missing = missing_group()
if missing then return { missing } end
local place, limit, program = place_of(1), tonumber(ARGV[${COMMON_ARGUMENTS + 2}]), ARGV[${COMMON_ARGUMENTS + 3}]
local matches = program ~= '' and matcher_of(program)
local texts = call('ZRANGEBYSCORE', place.key .. ':dead', '(' .. ARGV[${COMMON_ARGUMENTS + 1}], '+inf', 'LIMIT', 0, matches and ${LETTERS_PAGE} or limit)
local letters, sequences = {}, {}
for k = 1, #texts do
  letters[k] = letter_of_text(texts[k])
  sequences[k] = letters[k].sequence
end
local entries = events_by_sequence(1, sequences)
local answer, last, count = { 'ok', 0, 0 }, tonumber(ARGV[${COMMON_ARGUMENTS + 1}]), 0
for k = 1, #letters do
  if count == limit then break end
  local letter, entry, n = letters[k], entries[sequences[k]], #answer
  last = sequences[k]
  if not matches or (entry and matches(entry)) then
    count = count + 1
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = letter.sequence, letter.id, letter.attempts, letter.reason
    answer[n + 5], answer[n + 6], answer[n + 7] = letter.stack and '=' .. letter.stack or '', letter.consumer, letter.first
    answer[n + 8], answer[n + 9] = letter.dead, entry and line_of(entry) or ''
  end
end
answer[2] = last
if #texts > 0 and (last < sequences[#sequences] or #texts == ${LETTERS_PAGE}) then answer[3] = 1 end
return answer
`;

/** The sequence of the dead letter of an event, in a page of them. ARGV: after, id. Answers `{ "ok", sequence or 0, last looked at or 0 }`. */
export const FIND_LETTER: string = lua`
local missing = missing_group()
if missing then return { missing } end
local texts = call('ZRANGEBYSCORE', place_of(1).key .. ':dead', '(' .. ARGV[${COMMON_ARGUMENTS + 1}], '+inf', 'LIMIT', 0, ${LETTERS_PAGE})
local last = 0
for k = 1, #texts do
  local letter = letter_of_text(texts[k])
  if letter.id == ARGV[${COMMON_ARGUMENTS + 2}] then return { 'ok', letter.sequence, 0 } end
  last = letter.sequence
end
return { 'ok', 0, #texts == ${LETTERS_PAGE} and last or 0 }
`;

/** ARGV: sequence. Answers `{ "ok", state }`. */
export const DELIVERY: string = lua`
local missing = missing_group()
if missing then return { missing } end
return { 'ok', state_of(place_of(1), tonumber(ARGV[${COMMON_ARGUMENTS + 1}])) }
`;
