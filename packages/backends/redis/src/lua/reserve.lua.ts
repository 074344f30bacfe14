/**
 * Appending on a Cluster, where an id and its event are in slots of their own: the id is reserved under a name of the append, then the event
 * is appended under that name, then the id is made to stand for its place. Who meets a reservation asks the partition that it names what became
 * of it, and if nothing did, voids it there before taking the id over: an owner that comes late is refused.
 */
import { lua } from "./lua.ts";

/** An append to a Cluster whose ids were reserved longer ago than this is refused: what voided it may have been forgotten, later on. */
const LATEST_MS = 600_000;
/** Far more than that, and than clocks of nodes differ. */
const VOIDS_KEPT_SECONDS = 7_200;

/**
 * Appending to one partition of a Cluster, all or nothing. The ids were reserved before under the call's name. KEYS: the head. ARGV: nonce, time,
 * the largest event, the batch (without shards and partitions), the name, and the time in ms by the server when the first id was reserved.
 * Answers `{ "stream" | "other" }`, `{ "void" }` (somebody else took an id over, or it is too late), `{ "s", index, high watermark }`, `{ "u" }`,
 * or `{ "ok", now, high watermark before }`. What was appended under the name is known until its ids are made final.
 */
export const APPEND_AT: string = lua`
local tag, name = string.sub(KEYS[1], 1, -6), ARGV[5]
call('EXISTS', KEYS[1], tag .. ':log', tag .. ':reserved', tag .. ':voided')
local log = log_at(tag, tonumber(match(KEYS[1], '/(%d+)}:head$')))
if log.indexes then call('EXISTS', KEYS[1], unpack(index_keys(tag, log.indexes))) end
if not log.nonce then return { 'stream' } end
if log.nonce ~= nonce then return { 'other' } end
local time = call('TIME')
if call('ZSCORE', tag .. ':voided', name) or time[1] * 1000 - tonumber(ARGV[6]) > ${LATEST_MS} then return { 'void' } end
for k = 1, total do
  if shapes[k] % 2 == 1 then
    read(k)
    if expected ~= log.high + k - 1 then return { 's', k - 1, log.high + k - 1 } end
  else read(k) end
end
if log.high + total > MOST then return { 'u' } end
cursor = 0
for k = 1, total do
  read(k)
  log.high = log.high + 1
  write(k, log, log.high)
end
put_log(log)
call('HSET', tag .. ':reserved', name, format('%d-%d', log.before + 1, log.high))
return { 'ok', now, log.before }
`;

/**
 * Changes what ids of a Cluster stand for, where it is what the caller thinks. KEYS: the ids of a shard. ARGV: nonce of the stream; then id, what
 * it stands for ("": nothing), and what it is to ("": nothing) by turns. Answers `{ "other" }`, or `{ "ok", time in ms, … }`: for each id "" when
 * it was changed, else what it stands for ("-": nothing). Ids of an older stream of the name are removed first.
 */
export const PUT_IDS: string = lua`
local call, key, nonce = redis.call, KEYS[1], ARGV[1]
local there = call('HGET', key, '')
if there and there ~= nonce then
  if not is_past(there, nonce) then return { 'other' } end
  call('UNLINK', key)
end
if there ~= nonce then call('HSET', key, '', nonce) end
local time = call('TIME')
local answer, ids = { 'ok', time[1] * 1000 + math.floor(time[2] / 1000) }, {}
for k = 2, #ARGV, 3 do ids[#ids + 1] = ARGV[k] end
local found = call('HMGET', key, unpack(ids))
local set, gone = {}, {}
for n = 1, #ids do
  local before, after = ARGV[n * 3], ARGV[n * 3 + 1]
  if (found[n] or '') ~= before then answer[#answer + 1] = found[n] or '-'
  else
    answer[#answer + 1] = ''
    if after == '' then gone[#gone + 1] = ids[n]
    else set[#set + 1], set[#set + 2] = ids[n], after end
  end
end
if #gone > 0 then call('HDEL', key, unpack(gone)) end
if #set > 0 then call('HSET', key, unpack(set)) end
return answer
`;

/**
 * What became of an append to a partition of a Cluster. KEYS: the head. ARGV: nonce of the stream, the append's name, "1" to void it if nothing
 * did. Answers `{ "stream" | "other" }`, `{ "none" }`, `{ "void" }`, or `{ "done", sequence, id, … }`.
 */
export const RESOLVE: string = lua`
local call, tag = redis.call, string.sub(KEYS[1], 1, -6)
call('EXISTS', KEYS[1], tag .. ':log', tag .. ':reserved', tag .. ':voided')
local nonce = call('HGET', KEYS[1], 'nonce')
if not nonce then return { 'stream' } end
if nonce ~= ARGV[1] then return { 'other' } end
local range = call('HGET', tag .. ':reserved', ARGV[2])
if not range then
  if ARGV[3] ~= '1' then return { 'none' } end
  local seconds = call('TIME')[1]
  call('ZADD', tag .. ':voided', seconds, ARGV[2])
  call('ZREMRANGEBYSCORE', tag .. ':voided', '-inf', seconds - ${VOIDS_KEPT_SECONDS})
  return { 'void' }
end
local first, last = string.match(range, '^(%d+)-(%d+)$')
local page, answer = call('XRANGE', tag .. ':log', first, last), { 'done' }
for k = 1, #page do
  answer[#answer + 1] = tonumber(string.match(page[k][1], '^%d+'))
  answer[#answer + 1] = id_of(page[k])
end
return answer
`;

/** All ids of an append are final. KEYS: the head. ARGV: the append's name. */
export const RELEASE: string = lua`
redis.call('HDEL', string.sub(KEYS[1], 1, -6) .. ':reserved', ARGV[1])
return 'ok'
`;
