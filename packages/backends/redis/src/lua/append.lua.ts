/**
 * Appending on a single server (L1, L4–L6): a batch of requests for one stream, each atomic by itself. KEYS: the head of partition 0.
 * ARGV: nonce, time in ms ("": the server's), the largest event in bytes, the batch, and places of events that were compared and found to be
 * what is stored, as `,3,7,`; "1" when no id is there twice and no event expects a sequence; a channel and what to publish there if anything is
 * written ("": nothing). The batch is packed by MessagePack: how many events
 * each request has; ids; shards of the ids (none: all 0); partitions (none: all 0); shapes; and, event after event, what its shape says of
 * `expected sequence, at`, the tail of its header (type, key, metadata), and the payload.
 *
 * Answers `{ "stream" | "other" }`, or `{ "ok", now, heads, answers }`. Heads are partition and high watermark before, by turns. An answer per
 * request: 0 when all of it is new, or `{ "d", partition, sequence, line, … }` with the stored events of ids that were there (else ""), or
 * `{ "s", index, high watermark }`, `{ "u", partition }` (sequences used up), or `{ "x", index, partition, line }`: the stored event of an id
 * has other texts; whether it is the same event is for the caller to say, and the requests from there on were not looked at.
 */
import { lua } from "./lua.ts";

/** Bits of the shape: what there is beside partition, id, tail and payload. */
export const SHAPE: Readonly<Record<"expected" | "at", number>> = { expected: 1, at: 2 };

/** Ids in one call. */
const IDS_AT_ONCE = 2_000;

/** A batch that is read and written event by event; what ARGV has is said above. */
export const BATCH: string = lua`
local call, unpack, tonumber = redis.call, unpack, tonumber
local format, find, match, min, max = string.format, string.find, string.match, math.min, math.max
local nonce, now, largest = ARGV[1], ARGV[2], tonumber(ARGV[3])
local counts, ids, shards, partitions, shapes, content = unpack(cmsgpack.unpack(ARGV[4]))
local total, MOST = #ids, ${Number.MAX_SAFE_INTEGER}
if now == '' then
  local time = call('TIME')
  now = format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
end
local now_ms = tonumber(now)

-- Where a partition stands; its nonce is nil when it is not there.
local function log_at(tag, partition)
  local v = call('HMGET', tag .. ':head', 'nonce', 'log', 'indexes')
  local log = { tag = tag, indexes = v[3] and cjson.decode(v[3]) or nil, partition = partition, prefix = format('%d:', partition), head = tag .. ':head', key = tag .. ':log', nonce = v[1] or nil }
  if v[2] then
    local high, first, most, latest = match(v[2], '^(%d+) (%d+) (%d+) (%S+)$')
    log.high, log.first, log.largest, log.latest = tonumber(high), tonumber(first), tonumber(most), tonumber(latest)
    log.before = log.high
  end
  return log
end

local cursor, places, fields = 0, {}, { 'XADD', '', '', 'event', '', 'payload', '', 'latest', '' }
local expected, at, header, payload
-- Reads what the shape of event k says is there.
local function read(k)
  local shape, c = shapes[k], cursor
  expected, at = nil, nil
  if shape % 2 == 1 then
    c = c + 1
    expected = content[c]
  end
  if shape >= 2 then
    c = c + 1
    at = content[c]
  end
  header, payload, cursor = ids[k] .. '\0' .. (at or now) .. '\0' .. content[c + 1], content[c + 2], c + 2
end

-- Writes event k, which was read, as the next of its partition.
local function write(k, log, sequence)
  local count, moment, name = 7, at and tonumber(at) or now_ms, format('%d', sequence)
  fields[2], fields[3], fields[5], fields[7] = log.key, name, header, payload
  if log.latest and moment < log.latest then count, fields[9] = 9, log.latest
  else log.latest = moment end
  call(unpack(fields, 1, count))
  if log.indexes then
    local texts = parts_of(header)
    texts.payload = payload
    keep_index('ZADD', log.tag, log.indexes, sequence, function(root) return texts[root] end)
  end
  places[k] = log.prefix .. name
  log.written = true
end

-- Notes where a partition stands now.
local function put_log(log)
  log.largest = max(log.largest, largest)
  call('HSET', log.head, 'log', text_of_log(log))
end
`;

/** Cost: per event one entry and one id; per partition one read and one write; one look-up per shard of ids. */
export const APPEND: string = lua`
local base = match(KEYS[1], '^(.*/)%d+}:head$')
local compared = ARGV[5]

local logs = {}
local function log_of(partition)
  local log = logs[partition]
  if not log then
    log = log_at(base .. format('%d', partition) .. '}', partition)
    logs[partition] = log
  end
  return log
end
local first_nonce = log_of(0).nonce
if not first_nonce then return { 'stream' } end
if first_nonce ~= nonce then return { 'other' } end


local function ids_key(shard)
  return base .. 'ids/' .. format('%d', shard) .. '}'
end

-- Ids by shard.
local by_shard
if #shards == 0 then by_shard = { [0] = ids }
else
  by_shard = {}
  for k = 1, total do
    local shard = by_shard[shards[k]]
    if not shard then
      shard = {}
      by_shard[shards[k]] = shard
    end
    shard[#shard + 1] = ids[k]
  end
end

-- what is known of the ids
local known, plain = {}, true
for shard, wanted in pairs(by_shard) do
  for from = 1, #wanted, ${IDS_AT_ONCE} do
    local found = call('HMGET', ids_key(shard), unpack(wanted, from, min(#wanted, from + ${IDS_AT_ONCE - 1})))
    for k = 1, #found do
      if found[k] then known[wanted[from + k - 1]] = found[k] end
    end
  end
end
plain = ARGV[6] == '1' and next(known) == nil
for k = 1, max(1, #partitions) do
  if log_of(partitions[k] or 0).high + total > MOST then plain = false end
end

local function line_of(stored)
  return format('%d-0\0', stored.sequence) .. stored.header .. '\0' .. stored.payload
end

local function tail_of(a_header)
  return match(a_header, '^%Z*%z%Z*%z(.*)$')
end

-- The stored event of an id, or nil: what was trimmed is not there.
local function stored_of(id)
  local partition, sequence = match(known[id] or '', '^(%d+):(%d+)$')
  if not partition then return nil end
  local log = log_of(tonumber(partition))
  sequence = tonumber(sequence)
  if not log.nonce or sequence < log.first then return nil end
  local found = fields_of(call('XRANGE', log.key, sequence, sequence)[1])
  return { partition = log.partition, sequence = sequence, header = found[2] or '', payload = found[4] or '' }
end

-- All of a request is looked at, then all of it is written; the answer.
local function careful(from, last)
  local plan, details, refusal, fresh, before = {}, { 'd' }, nil, {}, {}
  local begin = cursor
  for k = from, last do
    read(k)
    local id, log = ids[k], log_of(partitions[k] or 0)
    local stored = not refusal and (fresh[id] or stored_of(id))
    if refusal then -- the rest is passed over
    elseif stored then
      local line = line_of(stored)
      local equal = tail_of(stored.header) == tail_of(header) and stored.payload == payload
      if equal or find(compared, ',' .. (k - 1) .. ',', 1, true) then
        details[#details + 1], details[#details + 2], details[#details + 3] = stored.partition, stored.sequence, line
      else refusal = { 'x', k - from, stored.partition, line } end
    elseif expected and expected ~= log.high then refusal = { 's', k - from, log.high }
    elseif log.high >= MOST then refusal = { 'u', log.partition }
    else
      before[log] = before[log] or log.high
      log.high = log.high + 1
      fresh[id] = { partition = log.partition, sequence = log.high, header = header, payload = payload }
      plan[k] = log.high
      details[#details + 1], details[#details + 2], details[#details + 3] = log.partition, log.high, ''
    end
  end
  if refusal then
    for log, high in pairs(before) do log.high = high end
    return refusal
  end
  cursor = begin
  for k = from, last do
    read(k)
    if plan[k] then
      write(k, log_of(partitions[k] or 0), plan[k])
      known[ids[k]] = places[k]
    end
  end
  return details
end

local answers, from = {}, 1
for r = 1, #counts do
  local last = from + counts[r] - 1
  if plain then
    answers[r] = 0
    for k = from, last do
      read(k)
      local log = logs[partitions[k] or 0]
      log.high = log.high + 1
      write(k, log, log.high)
    end
  else
    answers[r] = careful(from, last)
    if answers[r][1] == 'x' then break end
  end
  from = last + 1
end

local new_ids = {}
for k = 1, total do
  if places[k] then
    local shard = shards[k] or 0
    local pairs_of = new_ids[shard]
    if not pairs_of then
      pairs_of = {}
      new_ids[shard] = pairs_of
    end
    local n = #pairs_of
    pairs_of[n + 1], pairs_of[n + 2] = ids[k], places[k]
  end
end
for shard, new in pairs(new_ids) do
  for start = 1, #new, ${IDS_AT_ONCE} do call('HSET', ids_key(shard), unpack(new, start, min(#new, start + ${IDS_AT_ONCE - 1}))) end
end
local heads, is_news = {}, false
for _, log in pairs(logs) do
  heads[#heads + 1], heads[#heads + 2] = log.partition, log.before
  if log.written then
    put_log(log)
    is_news = true
  end
end
-- a hint, which a user without the right to the channel need not give
if is_news and ARGV[7] ~= '' then redis.pcall('PUBLISH', ARGV[7], ARGV[8]) end
return { 'ok', now, heads, answers }
`;
