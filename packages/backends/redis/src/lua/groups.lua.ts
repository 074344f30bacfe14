/** Making, changing and removing groups, and their partitions. */
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";

/** Where a group starts, or starts again, in a place (G1). A start is a kind and a text: a time, or a sequence for each place. */
export const START: string = lua`
local function start_cursor(i, kind, text)
  local log = log_of(i)
  if kind == 'earliest' then return log.first - 1 end
  if kind == 'latest' then return log.high end
  if kind == 'time' then return max(log.first, sequence_at(i, tonumber(text))) - 1 end
  local k = 0
  for sequence in gmatch(text, '%d+') do
    k = k + 1
    if k == i then return min(log.high, max(log.first - 1, tonumber(sequence))) end
  end
  return log.first - 1
end
`;

/** The last token that a group gave in a place; 0 when it is not there. */
export const TOKEN: string = lua`
local function token_of(key)
  return tonumber(string.match(redis.call('HGET', key, 'progress') or '', '^%d+ %d+ %d+ %d+ %S+ (%d+) ') or '0')
end
`;

/** A group as it is listed: options, paused, created, version, start. */
export const GROUP_RECORD: string = lua`
local function group_record(key)
  return call('HMGET', key, 'options', 'paused', 'created', 'version', 'origin')
end
`;

/**
 * ARGV: options, attempts, lease, ordering, inflight, filter; kind and text of the start, and the whole of it as JSON; version, time of
 * creation and paused where they were decided elsewhere, else "". Answers `{ "ok", created, record }`. A group of that name that is there is left as it is, unless it has
 * a lower version than was decided: then it is what is left of one that was removed.
 */
export const CREATE_GROUP: string = lua`
local missing = missing_stream()
if missing then return { missing } end
guard(keys_of_group(1))
local given = ${COMMON_ARGUMENTS}
local options, kind, text = ARGV[given + 1], ARGV[given + 7], ARGV[given + 8]
local version, created_at, paused = tonumber(ARGV[given + 10]), tonumber(ARGV[given + 11]) or now, tonumber(ARGV[given + 12]) or 0
local there = call('HGET', group_key(1), 'version')
if there and (not version or tonumber(there) >= version) then return { 'ok', 0, group_record(group_key(1)) } end
version = version or call('HINCRBY', KEYS[1], 'version', 1)
for i = 1, #KEYS do
  local key = group_key(i)
  local floor_token = max(tonumber(call('HGET', KEYS[i], 'floor')), token_of(key))
  local cursor = start_cursor(i, kind, text)
  call('UNLINK', unpack(keys_of_group(i)))
  call('HSET', key, 'options', options, 'attempts', ARGV[given + 2], 'lease', ARGV[given + 3], 'ordering', ARGV[given + 4],
    'inflight', ARGV[given + 5], 'filter', ARGV[given + 6], 'paused', paused, 'created', created_at, 'version', version,
    'origin', ARGV[given + 9],
    'progress', progress_text({
      cursor = cursor, open = 0, exceptions = 0, alone = 0, expiry = huge, token = floor_token, reset = floor_token, start = cursor, skipped = 0,
      revoked = 0, due = huge, dead = 0,
    }))
  call('ZADD', tags[i] .. ':groups', 0, group)
end
return { 'ok', 1, group_record(group_key(1)) }
`;

/** Answers `{ "ok", record }`. */
export const READ_GROUP: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local record = group_record(group_key(1))
if not record[1] then return { 'group' } end
return { 'ok', record }
`;

/** ARGV: after ("": from the beginning), limit. Answers `{ "ok", name, record, … }`. */
export const LIST_GROUPS: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local after = ARGV[${COMMON_ARGUMENTS + 1}]
local names = call('ZRANGE', tags[1] .. ':groups', after == '' and '-' or '(' .. after, '+', 'BYLEX', 'LIMIT', 0, ARGV[${COMMON_ARGUMENTS + 2}])
local answer = { 'ok' }
for k = 1, #names do
  answer[#answer + 1] = names[k]
  answer[#answer + 1] = group_record(tags[1] .. ':g:' .. names[k])
end
return answer
`;

/**
 * ARGV: options ("": unchanged), attempts, lease, ordering, inflight, filter; paused ("": unchanged); version where it was decided elsewhere.
 * Answers `{ "ok", record }`.
 */
export const UPDATE_GROUP: string = lua`
local missing = missing_group()
if missing then return { missing } end
local given = ${COMMON_ARGUMENTS}
local options, paused, version = ARGV[given + 1], ARGV[given + 7], tonumber(ARGV[given + 8])
local there = tonumber(call('HGET', group_key(1), 'version'))
if not version or there < version then
  version = version or call('HINCRBY', KEYS[1], 'version', 1)
  for i = 1, #KEYS do
    local key = group_key(i)
    if options ~= '' then
      call('HSET', key, 'options', options, 'attempts', ARGV[given + 2], 'lease', ARGV[given + 3], 'ordering', ARGV[given + 4],
        'inflight', ARGV[given + 5], 'filter', ARGV[given + 6])
    end
    if paused ~= '' then call('HSET', key, 'paused', paused) end
    call('HSET', key, 'version', version)
  end
end
return { 'ok', group_record(group_key(1)) }
`;

/** Answers `{ "ok", removed }`. A later group of that name has greater tokens (F1). */
export const DELETE_GROUP: string = lua`
local missing = missing_stream()
if missing then return { missing } end
guard(keys_of_group(1))
local removed, highest = 0, 0
for i = 1, #KEYS do
  local token = token_of(group_key(i))
  if call('EXISTS', group_key(i)) == 1 then removed, highest = 1, max(highest, token) end
end
for i = 1, #KEYS do
  if highest > tonumber(call('HGET', KEYS[i], 'floor')) then call('HSET', KEYS[i], 'floor', highest) end
  call('UNLINK', unpack(keys_of_group(i)))
  call('ZREM', tags[i] .. ':groups', group)
end
return { 'ok', removed }
`;

/** Names and versions of all groups, and the version up to which these are all: `{ "ok", version, name, version, … }`. */
export const LIVING_GROUPS: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local names = call('ZRANGE', tags[1] .. ':groups', 0, -1)
local answer = { 'ok', tonumber(call('HGET', KEYS[1], 'version')) }
for k = 1, #names do
  answer[#answer + 1] = names[k]
  answer[#answer + 1] = tonumber(call('HGET', tags[1] .. ':g:' .. names[k], 'version'))
end
return answer
`;
