/**
 * The list of streams, and making and removing them. KEYS: its first key, then, on a single server, the heads of the stream's partitions.
 * A record is JSON: partitions, nonce, created (ms), floor (the highest token of streams removed before), state ("live", or "going" while
 * it is being removed). A nonce is a number that rises, and a random text: what is left of an older stream of that name is told by it.
 */
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { TOKEN } from "./groups.lua.ts";
import { lua } from "./lua.ts";

const CATALOG = lua`
local call, format = redis.call, string.format
local root = string.sub(KEYS[1], 1, -9)
local names, meta = root .. ':names', root .. ':meta'
`;

/** A partition as it begins. */
const BEGIN = lua`
local function begin(head, nonce, partitions, floor)
  redis.call('HSET', head, 'nonce', nonce, 'partitions', partitions, 'log', '0 1 0 -', 'floor', floor, 'version', 0)
end
`;

/** ARGV: name, partitions, random text, time in ms ("": the server's). Answers `{ record, created }`. */
export const CREATE_STREAM: string = lua`
${CATALOG}${BEGIN}
local record = call('HGET', KEYS[1], ARGV[1])
if record then return { record, 0 } end
local created, floor = ARGV[4], call('HGET', meta, 'floor') or '0'
if created == '' then
  local time = call('TIME')
  created = format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
end
local nonce = format('%d', call('HINCRBY', meta, 'epoch', 1)) .. '.' .. ARGV[3]
record = cjson.encode({ partitions = tonumber(ARGV[2]), nonce = nonce, created = created, floor = floor, state = 'live' })
call('HSET', KEYS[1], ARGV[1], record)
call('ZADD', names, 0, ARGV[1])
for k = 2, #KEYS do begin(KEYS[k], nonce, ARGV[2], floor) end
return { record, 1 }
`;

/** ARGV: after ("": from the beginning), limit. Answers name and record by turns. */
export const LIST_STREAMS: string = lua`
${CATALOG}
local found = call('ZRANGE', names, ARGV[1] == '' and '-' or '(' .. ARGV[1], '+', 'BYLEX', 'LIMIT', 0, ARGV[2])
local answer = {}
for k = 1, #found do
  answer[#answer + 1] = found[k]
  answer[#answer + 1] = call('HGET', KEYS[1], found[k])
end
return answer
`;

/** What removing a stream needs to know of a partition: the highest token of its groups. */
const HIGHEST = lua`
${TOKEN}
local function highest_token(head)
  local tag = string.sub(head, 1, -6)
  local highest = tonumber(redis.call('HGET', head, 'floor')) or 0
  local groups = redis.call('ZRANGE', tag .. ':groups', 0, -1)
  for k = 1, #groups do highest = math.max(highest, token_of(tag .. ':g:' .. groups[k])) end
  return highest
end

-- Which indexes there are has to be known when the partition is cleared.
local function forget_head(head)
  local indexes = redis.call('HGET', head, 'indexes')
  redis.call('DEL', head)
  if indexes then redis.call('HSET', head, 'indexes', indexes) end
end
`;

/** ARGV: name, nonce. The stream is no longer there. Answers `{ record, removed }`; no record: there was none; another: ask again. */
export const REMOVE_STREAM: string = lua`
${CATALOG}${HIGHEST}
local text = call('HGET', KEYS[1], ARGV[1])
if not text then return { '', 0 } end
local record = cjson.decode(text)
if record.state ~= 'live' or record.nonce ~= ARGV[2] then return { text, 0 } end
record.state = 'going'
text = cjson.encode(record)
local floor = tonumber(call('HGET', meta, 'floor') or '0')
for k = 2, #KEYS do floor = math.max(floor, highest_token(KEYS[k])) end
call('HSET', KEYS[1], ARGV[1], text)
call('HSET', meta, 'floor', floor)
call('ZREM', names, ARGV[1])
for k = 2, #KEYS do forget_head(KEYS[k]) end
return { text, 1 }
`;

/** ARGV: the highest token of a removed stream. */
export const RAISE_FLOOR: string = lua`
${CATALOG}
local floor = tonumber(call('HGET', meta, 'floor') or '0')
if tonumber(ARGV[1]) > floor then call('HSET', meta, 'floor', ARGV[1]) end
return 'ok'
`;

/** ARGV: name, nonce. The last step of removing a stream. */
export const FORGET_STREAM: string = lua`
${CATALOG}
local text = call('HGET', KEYS[1], ARGV[1])
if text and cjson.decode(text).nonce == ARGV[2] then call('HDEL', KEYS[1], ARGV[1]) end
return 'ok'
`;

/** Which of two streams of one name is the older. */
export const OLDER: string = lua`
-- Whether a nonce is of the same stream as another, or of an older one.
local function is_past(nonce, other)
  return nonce == other or tonumber(string.match(nonce, '^%d+')) < tonumber(string.match(other, '^%d+'))
end
`;

/** What CLEAR_PARTITION and INIT_PARTITION share. */
const CLEAR = lua`
local function clear_partition()
  local groups = call('ZRANGE', tags[1] .. ':groups', 0, -1)
  for k = 1, #groups do
    group = groups[k]
    call('UNLINK', unpack(keys_of_group(1)))
  end
  local indexes = indexes_of(KEYS[1])
  if indexes then call('UNLINK', unpack(index_keys(tags[1], indexes))) end
  call('UNLINK', KEYS[1], tags[1] .. ':log', tags[1] .. ':groups', tags[1] .. ':reserved', tags[1] .. ':voided')
end
`;

/** Makes a partition of a Cluster, unless it is there. What is left of an older stream goes. KEYS: its head. ARGV: as all scripts, then partitions, floor. */
export const INIT_PARTITION: string = lua`
${BEGIN}${CLEAR}
local there = call('HGET', KEYS[1], 'nonce')
if not there or (there ~= nonce and is_past(there, nonce)) then
  clear_partition()
  begin(KEYS[1], nonce, ARGV[${COMMON_ARGUMENTS + 1}], ARGV[${COMMON_ARGUMENTS + 2}])
end
return 'ok'
`;

/** A partition of a Cluster is no longer there; its highest token is kept until it is cleared. KEYS: its head. ARGV: nonce. Answers the token. */
export const ENTOMB_PARTITION: string = lua`
${HIGHEST}${OLDER}
local nonce = redis.call('HGET', KEYS[1], 'nonce')
if nonce and not is_past(nonce, ARGV[1]) then return 0 end
local highest = highest_token(KEYS[1])
forget_head(KEYS[1])
redis.call('HSET', KEYS[1], 'floor', highest)
return highest
`;

/** Removes what is left of a partition, unless it belongs to a newer stream. ARGV: as all scripts. */
export const CLEAR_PARTITION: string = lua`
${CLEAR}
local there = call('HGET', KEYS[1], 'nonce')
if not there or is_past(there, nonce) then clear_partition() end
return 'ok'
`;

/**
 * Removes the ids of a shard, unless they belong to a newer stream: that is told by partition 0 on a single server, and by a nonce beside the
 * ids on a Cluster. KEYS: the ids, then the head on a single server. ARGV: nonce.
 */
export const CLEAR_IDS: string = lua`
${OLDER}
local there = KEYS[2] and redis.call('HGET', KEYS[2], 'nonce') or redis.call('HGET', KEYS[1], '')
if not there or is_past(there, ARGV[1]) then redis.call('UNLINK', KEYS[1]) end
return 'ok'
`;

/** Notes the version of the layout, unless a newer one is noted. KEYS: where. ARGV: the version. */
export const SET_LAYOUT_VERSION: string = lua`
local there = tonumber(redis.call('HGET', KEYS[1], 'layout') or '0')
if there < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'layout', ARGV[1]) end
return 'ok'
`;
