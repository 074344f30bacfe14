/**
 * Removing a prefix of the log (L10). It is gone at once: everything reads from the first retained sequence on. The entries themselves and
 * their ids are swept away after that, page by page, by whoever trimmed or trims next.
 */
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";

/** Entries swept away by one script. */
const PAGE = 1_000;

/**
 * ARGV: places wanted ("": all, else `,0,2,`), "sequence", "time" or "keep", its number, "1" to pass the frontiers of slow groups; on a
 * Cluster the groups that there are, as JSON, and the version up to which that is all of them ("": no matter); "1" to count only. Answers
 * `{ "ok", removed, held back }`. Cost: the leases in flight of all groups.
 */
export const TRIM: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local wanted_places, kind, value, force =
  ARGV[${COMMON_ARGUMENTS + 1}], ARGV[${COMMON_ARGUMENTS + 2}], tonumber(ARGV[${COMMON_ARGUMENTS + 3}]), ARGV[${COMMON_ARGUMENTS + 4}] == '1'

-- What a trim of everything up to a sequence takes from a group.
local function trim_progress(place, last)
  local lost, gone = max(0, last - place.cursor), { 1, last }
  local rows = all_rows(place)
  for k = 1, #rows do
    local taken, kept = divide(rows[k].runs, gone)
    if #taken > 0 then
      keep_open(place, rows[k], kept)
      lost = lost + size_of_runs(taken)
    end
  end
  if place.exceptions > 0 then
    local found = exceptions_named(place, call('ZRANGEBYSCORE', place.key .. ':order', '-inf', last))
    for k = 1, #found do delete_exception(place, found[k]) end
    lost = lost + #found
  end
  if lost > 0 or place.cursor < last then place.changed = true end
  place.cursor = max(place.cursor, last)
  place.skipped = place.skipped + lost
  flush(place)
end

-- On a Cluster a group may have been removed where that is decided, and not here: then it holds nothing back.
local living, up_to
if ARGV[${COMMON_ARGUMENTS + 5}] ~= '' then living, up_to = cjson.decode(ARGV[${COMMON_ARGUMENTS + 5}]), tonumber(ARGV[${COMMON_ARGUMENTS + 6}]) end

local function is_gone(i)
  return living and not living[group] and tonumber(call('HGET', group_key(i), 'version') or '0') <= up_to
end

-- Calls a function with the group's place in partition i, for each group.
local function each_group(i, work)
  local names = call('ZRANGE', tags[i] .. ':groups', 0, -1)
  for k = 1, #names do
    group, places, config = names[k], {}, nil
    guard(keys_of_group(i))
  end
  for k = 1, #names do
    group, places, config = names[k], {}, nil
    local place = place_of(i)
    if is_gone(i) then
      call('UNLINK', unpack(keys_of_group(i)))
      call('ZREM', tags[i] .. ':groups', group)
    elseif place then work(place) end
  end
end

local removed, held_back, counts = 0, 0, ARGV[${COMMON_ARGUMENTS + 7}] == '1'
for i = 1, #KEYS do
  if wanted_places == '' or find(wanted_places, ',' .. (i - 1) .. ',', 1, true) then
    local log, last, allowed = log_of(i), nil, nil
    if kind == 'sequence' then last = min(value - 1, log.high)
    elseif kind == 'time' then last = sequence_at(i, value) - 1
    else last = log.high - value end
    allowed = last
    if not force then each_group(i, function(place) allowed = min(allowed, frontier_of(place)) end)
    elseif not counts and last >= log.first then each_group(i, function(place) trim_progress(place, last) end) end
    local first = max(log.first, allowed + 1)
    removed = removed + first - log.first
    held_back = held_back + max(0, last - max(allowed, first - 1))
    if first > log.first and not counts then
      log.first = first
      call('HSET', KEYS[i], 'log', text_of_log(log))
    end
  end
end
return { 'ok', removed, held_back }
`;

/**
 * Removes entries whose ids are gone already, and answers the next ones: `{ "ok", sequence, id, … }`. ARGV: the last whose id is gone, or 0.
 */
export const SWEEP: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local key, swept = tags[1] .. ':log', min(tonumber(ARGV[${COMMON_ARGUMENTS + 1}]), log_of(1).first - 1)
if swept > 0 then call('XTRIM', key, 'MINID', int(swept + 1)) end
local answer = { 'ok' }
if log_of(1).first == 1 then return answer end
local page = call('XRANGE', key, '-', log_of(1).first - 1, 'COUNT', ${PAGE})
local indexes = indexes_of(KEYS[1])
if indexes then guard(index_keys(tags[1], indexes)) end
for k = 1, #page do
  if indexes then
    keep_index('ZREM', tags[1], indexes, tonumber(match(page[k][1], '^%d+')), function(root) return field_of(page[k], root) end)
  end
  answer[#answer + 1] = tonumber(match(page[k][1], '^%d+'))
  answer[#answer + 1] = id_of(page[k])
end
if #page == 0 and ARGV[4] == '1' then
  -- appends that nobody made final: what they appended is gone
  local reserved = call('HGETALL', tags[1] .. ':reserved')
  for k = 1, #reserved, 2 do
    if tonumber(match(reserved[k + 1], '%d+$')) < log_of(1).first then call('HDEL', tags[1] .. ':reserved', reserved[k]) end
  end
end
return answer
`;

/** Removes ids that still stand for these places. KEYS: the ids of a shard. ARGV: id and place by turns. */
export const DROP_IDS: string = lua`
local ids, gone = {}, {}
for k = 1, #ARGV, 2 do ids[#ids + 1] = ARGV[k] end
local found = redis.call('HMGET', KEYS[1], unpack(ids))
for k = 1, #ids do
  if found[k] == ARGV[k * 2] then gone[#gone + 1] = ids[k] end
end
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
return #gone
`;
