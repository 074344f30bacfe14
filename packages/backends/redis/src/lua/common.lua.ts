/**
 * What every script on partitions begins with. KEYS are the heads of the partitions at hand: all of the stream on a single server, one
 * on a Cluster. ARGV begins with the stream's nonce, the time in ms ("": the server's), the group ("": none), and "1" on a Cluster.
 * Partitions are named by their place among KEYS, from 1.
 */
import { lua } from "./lua.ts";

/** Arguments that every script on partitions takes. */
export const COMMON_ARGUMENTS = 4;

export const COMMON: string = lua`
local call, unpack, tonumber = redis.call, unpack, tonumber
local format, byte, find, gmatch, match, sub = string.format, string.byte, string.find, string.gmatch, string.match, string.sub
local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
local concat, sort = table.concat, table.sort
local nonce, group = ARGV[1], ARGV[3]
local tags = {}
for i = 1, #KEYS do tags[i] = sub(KEYS[i], 1, -6) end

local now = tonumber(ARGV[2])
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + floor(time[2] / 1000)
end

-- A whole number as text: Lua's own way loses digits from 1e14 on.
local function int(number)
  return format('%d', number)
end

-- More than fit on Lua's stack at once go in parts; lists that come back are joined, numbers added.
local function call_with(command, key, items)
  local count = #items
  if count <= 4000 then return call(command, key, unpack(items)) end
  local all, sum = {}, 0
  for from = 1, count, 4000 do
    local part = call(command, key, unpack(items, from, min(from + 3999, count)))
    if type(part) == 'table' then
      for k = 1, #part do all[#all + 1] = part[k] end
    else sum = sum + part end
  end
  return #all > 0 and all or sum
end

-- While a slot of a Cluster is being moved, keys that are touched must all be there, or nothing is done: see Connection.run.
local function guard(keys)
  if ARGV[4] == '1' then call_with('EXISTS', KEYS[1], keys) end
end
`;

/**
 * Where the partitions at hand stand. In the field `log` of the head: the high watermark, the first retained sequence, bytes of the largest
 * event ever, and the greatest timestamp (ms; `-`: none).
 */
export const LOG: string = lua`
local logs = {}

local function log_of_text(i, text)
  local high, first, largest, latest = match(text, '^(%d+) (%d+) (%d+) (%S+)$')
  local log = { high = tonumber(high), first = tonumber(first), largest = tonumber(largest), latest = tonumber(latest) }
  logs[i] = log
  return log
end

local function log_of(i)
  return logs[i] or log_of_text(i, call('HGET', KEYS[i], 'log'))
end

-- A page as the log should have it: in the place of an entry that somebody deleted by hand stands one that cannot be decoded, so that
-- positions hold, and its delivery fails by itself.
local function whole(page, first, last)
  if #page == last - first + 1 then return page end
  local found, k = {}, 1
  for sequence = first, last do
    local id = format('%d-0', sequence)
    if page[k] and page[k][1] == id then
      found[#found + 1], k = page[k], k + 1
    else found[#found + 1] = { id, { 'event', 'deleted-' .. id .. '\0' .. '0\0\0\0{}', 'payload', '' } } end
  end
  return found
end

-- Nil, or why there is nothing to do: no such stream, or another than the caller knows.
local function missing_stream()
  local head = call('HMGET', KEYS[1], 'nonce', 'log')
  if not head[1] then return 'stream' end
  if head[1] ~= nonce then return 'other' end
  guard({ tags[1] .. ':log', tags[1] .. ':groups' })
  log_of_text(1, head[2])
end
`;

/** A head's field `log` as text. */
export const LOG_TEXT: string = lua`
local function text_of_log(log)
  return string.format('%d %d %d %s', log.high, log.first, log.largest, log.latest and string.format('%d', log.latest) or '-')
end
`;
