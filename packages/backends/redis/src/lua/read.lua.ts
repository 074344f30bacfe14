/** Reading the log. Nothing here writes. */
import { LIMITS } from "@rheo/core/internal";
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";

/** ARGV: after, until, "asc" or "desc", limit, bytes. Answers `{ "ok", line, … }`: cut before the bytes are exceeded, but at least one. */
export const READ: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local given, log, answer = ${COMMON_ARGUMENTS}, log_of(1), { 'ok' }
local after, last, limit, bytes = tonumber(ARGV[given + 1]), tonumber(ARGV[given + 2]), tonumber(ARGV[given + 4]), tonumber(ARGV[given + 5])
if ARGV[given + 3] == 'asc' then
  local page = slice(1, after, last, limit, bytes)
  for k = 1, #page do answer[k + 1] = line_of(page[k]) end
  return answer
end
local first, size = max(after + 1, log.first), 0
last = min(last, log.high)
first = max(first, last - limit + 1)
local step = page_of(log, bytes)
while last >= first do
  local from = max(first, last - step + 1)
  local page = call('XREVRANGE', tags[1] .. ':log', last, from)
  for k = 1, #page do
    size = size + size_of(page[k])
    if size > bytes and #answer > 1 then return answer end
    answer[#answer + 1] = line_of(page[k])
  end
  last = from - 1
end
return answer
`;

/** Events examined by one script. */
const EXAMINED = 1_000;
/** Of those that an index names, read at a time. */
const LOOKED_UP = 50;

/**
 * ARGV: as READ, then program ("": all), from and to in ms ("": open), how many events to look at, at most. Answers `{ "ok", last looked at
 * (0: none), "1" when nothing is left, line, … }`.
 */
export const SEARCH: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local given, log, answer = ${COMMON_ARGUMENTS}, log_of(1), { 'ok', 0, 0 }
local first, last = max(tonumber(ARGV[given + 1]) + 1, log.first), min(tonumber(ARGV[given + 2]), log.high)
local rising, limit, bytes = ARGV[given + 3] == 'asc', tonumber(ARGV[given + 4]), tonumber(ARGV[given + 5])
local program = ARGV[given + 6]
local matches = program ~= '' and matcher_of(program)
local from, to = tonumber(ARGV[given + 7]) or -huge, tonumber(ARGV[given + 8]) or huge
local examine, size = min(${EXAMINED}, tonumber(ARGV[given + 9])), 0
if from > -huge then first = max(first, sequence_at(1, from)) end

-- Looks at an event; false when the answer is full before it.
local function look(entry, sequence)
  local at = at_of(entry)
  if at >= from and at < to and (not matches or matches(entry)) then
    size = size + size_of(entry)
    if #answer - 3 == limit or (size > bytes and #answer > 3) then return false end
    answer[#answer + 1] = line_of(entry)
  end
  answer[2] = sequence
  return true
end

-- Of those that an index names, in order.
local function by_index(key, value)
  guard({ key })
  local low, high = '[' .. member_of(value, first), '[' .. member_of(value, last)
  local members = rising and call('ZRANGEBYLEX', key, low, high, 'LIMIT', 0, examine)
    or call('ZREVRANGEBYLEX', key, high, low, 'LIMIT', 0, examine)
  for start = 1, #members, ${LOOKED_UP} do
    local sequences = {}
    for k = start, min(#members, start + ${LOOKED_UP - 1}) do sequences[#sequences + 1] = tonumber(sub(members[k], -16)) end
    if not rising then sort(sequences) end
    local page = events_at(1, sequences, huge)
    for k = 1, #page do
      local entry = page[rising and k or #page + 1 - k]
      if not look(entry, entry.sequence) then return answer end
    end
  end
  if #members < examine then answer[2], answer[3] = rising and last or first, 1 end
  return answer
end

local indexes = matches and first <= last and indexes_of(KEYS[1])
if indexes then
  local key, value = serving(tags[1], indexes, cjson.decode(marked(program)))
  if key then return by_index(key, value) end
end
local step = min(100, page_of(log, ${LIMITS.fetchBytes}))
while first <= last and examine > 0 do
  local count = min(step, examine, last - first + 1)
  local page = rising and whole(call('XRANGE', tags[1] .. ':log', first, first + count - 1), first, first + count - 1)
    or call('XREVRANGE', tags[1] .. ':log', last, last - count + 1)
  for k = 1, #page do
    if not look(page[k], rising and first or last) then return answer end
    if rising then first = first + 1 else last = last - 1 end
  end
  examine = examine - count
end
if first > last then answer[3] = 1 end
return answer
`;

/** ARGV: rising sequences. Answers `{ "ok", line, … }` of those that are retained. */
export const READ_AT: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local sequences, answer = {}, { 'ok' }
for k = ${COMMON_ARGUMENTS + 1}, #ARGV do sequences[#sequences + 1] = tonumber(ARGV[k]) end
local found = events_at(1, sequences, huge)
for k = 1, #found do answer[k + 1] = line_of(found[k]) end
return answer
`;

/** Answers `{ "ok", first, high, … }`. */
export const WATERMARKS: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local answer = { 'ok' }
for i = 1, #KEYS do
  answer[#answer + 1] = log_of(i).first
  answer[#answer + 1] = log_of(i).high
end
return answer
`;
