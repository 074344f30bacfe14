/**
 * Exchange: settles, then fetches, in one step (the port's `exchange`). The happy path is here, what lies beyond it in `settle.lua.ts` and
 * `claim.lua.ts`, whose functions are made only when they are needed.
 *
 * ARGV: number of settlements, limit ("": no fetch; on a Cluster "look": a look instead), bytes, consumer, lease in ms ("": the group's), places wanted ("": all, else `,0,2,`),
 * the turn's partition and streak, what there is elsewhere ("": nothing, else `inflight alone held searching since granted token`), how much of
 * the limit is for new events where the caller has decided that (""), number of partitions of the stream, how many of a key (or partition) may be leased together in a group that keeps order; then for each settlement its place (from
 * 0), token, kind, runs, and for r(etry) and j (reject) delay, reason and stack ("": none, else `=` and the stack).
 *
 * Answers `{ "stream" | "group" | "other" }`, or `{ "ok", now, ordering, settled, partition, streak, more, died, expires, grants, texts }`: an
 * answer per settlement; deliveries that died as place, sequence and reason; grants as place, token, attempt and runs of sequences; of each event header and payload. On a Cluster
 * also "1" when nothing more may be given, and how many crash suspects were; or the look: see `SURVEY_AT`.
 */
import { LIMITS } from "@rheo/core/internal";
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";

/** Arguments before those of settlements. */
const FIRST = COMMON_ARGUMENTS + 12;

/** Cost of the happy path: three writes for what is settled and three for what is leased, however many events; one read of the range. */
export const exchangeScript = (happy: readonly string[], beyond: readonly string[]): string => lua`
${happy.join("\n")}
local missing = missing_group()
if missing then return { missing } end

local function beyond()
${beyond.join("\n")}
  return { settle = settle, claim = claim, survey = survey, survey_at = survey_at, flush = flush, runs_of_text = runs_of_text, text_of_sequences = text_of_sequences }
end
local more_than_happy
local function progress()
  more_than_happy = more_than_happy or beyond()
  return more_than_happy
end

local argument = ${FIRST}
local function next_argument()
  argument = argument + 1
  return ARGV[argument]
end

-- Acks a batch as a whole; false when it is not that.
local function ack_whole(place, token, runs)
  local key = place.key .. ':leases'
  local text = call('HGET', key, token)
  if not text or sub(text, 1, #runs + 1) ~= runs .. ' ' or find(text, ';', 1, true) then return false end
  local open, alone = match(text, '^%S+ (%d+) %d+ %d+ (%d)')
  call('HDEL', key, token)
  call('ZREM', place.key .. ':expiries', token)
  place.open = place.open - open
  if alone ~= '0' then place.alone = place.alone - 1 end
  place.changed = true
  return true
end

local settled = {}
for k = 1, tonumber(ARGV[${COMMON_ARGUMENTS + 1}]) do
  local i, token, kind, runs = tonumber(next_argument()) + 1, next_argument(), next_argument(), next_argument()
  local outcome = { kind = kind }
  if kind == 'r' or kind == 'j' then
    outcome.delay, outcome.reason = tonumber(next_argument()), next_argument()
    local stack = next_argument()
    outcome.stack = stack ~= '' and sub(stack, 2) or nil
  end
  local place = i <= #KEYS and place_of(i)
  if not place then settled[k] = 'G' .. runs
  elseif kind == 'a' and not next(place.rows) and ack_whole(place, token, runs) then settled[k] = 'a' .. runs
  else settled[k] = progress().settle(place, tonumber(token), progress().runs_of_text(runs), outcome) end
end

local turn = { partition = tonumber(ARGV[${COMMON_ARGUMENTS + 7}]), streak = tonumber(ARGV[${COMMON_ARGUMENTS + 8}]) }
local answer = { 'ok', now, config.ordering, settled, turn.partition, turn.streak, 0, {}, 0, {}, {} }

local function finish()
  for i = 1, #KEYS do
    local place = places[i]
    if place then
      if more_than_happy then more_than_happy.flush(place) else flush_head(place) end
    end
  end
  answer[5], answer[6] = turn.partition, turn.streak
  return answer
end

local limit = tonumber(ARGV[${COMMON_ARGUMENTS + 2}])
if ARGV[${COMMON_ARGUMENTS + 2}] == 'look' then
  progress().flush(place_of(1))
  answer[12] = progress().survey_at(ARGV[${COMMON_ARGUMENTS + 4}], ARGV[${COMMON_ARGUMENTS + 5}])
end
if not limit or config.paused then return finish() end
if more_than_happy then
  for i = 1, #KEYS do
    if places[i] then more_than_happy.flush(places[i]) end
  end
end

local wanted, elsewhere = ARGV[${COMMON_ARGUMENTS + 6}], { inflight = 0, alone = 0, held = 0, searching = 0, since = -huge, granted = 0, token = -1 }
if ARGV[${COMMON_ARGUMENTS + 9}] ~= '' then
  local inflight, alone, held, searching, since, given, token = match(ARGV[${COMMON_ARGUMENTS + 9}], '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  elsewhere = {
    inflight = tonumber(inflight), alone = tonumber(alone), held = tonumber(held), searching = tonumber(searching), since = tonumber(since) or -huge,
    granted = tonumber(given), token = tonumber(token),
  }
end
local request = {
  limit = limit, bytes = tonumber(ARGV[${COMMON_ARGUMENTS + 3}]), consumer = ARGV[${COMMON_ARGUMENTS + 4}],
  lease = tonumber(ARGV[${COMMON_ARGUMENTS + 5}]) or config.lease, turn = turn, elsewhere = elsewhere, reserved = tonumber(ARGV[${COMMON_ARGUMENTS + 10}]),
  run = tonumber(ARGV[${COMMON_ARGUMENTS + 12}]),
}
local expires = now + request.lease

-- a look at all places
local happy = config.ordering == 'none' and config.filter == '' and config.attempts > 2 and elsewhere.alone == 0 and elsewhere.token == -1
local candidates, inflight, any_alone, largest = {}, elsewhere.inflight, elsewhere.alone > 0, 0
for i = 1, #KEYS do
  local place, log = place_of(i), log_of(i)
  local is_wanted = wanted == '' or find(wanted, ',' .. (i - 1) .. ',', 1, true)
  any_alone = any_alone or place.alone > 0
  local found
  if place.exceptions == 0 and (place.open == 0 or place.expiry > now) then
    inflight = inflight + place.open
    if place.cursor < log.high then found = { i = i, backlog = true, due = false, expired = false, exceptions = false } end
  else
    found = progress().survey(i)
    inflight = inflight + found.inflight
    if not (found.backlog or found.due or found.expired or found.exceptions) then found = nil end
  end
  if found and is_wanted then
    candidates[#candidates + 1] = found
    largest = max(largest, log.largest)
    happy = happy and not (found.due or found.expired or found.exceptions)
  end
end
if #candidates == 0 then return finish() end
local room = (config.inflight or ${LIMITS.inflightPerPartition} * tonumber(ARGV[${COMMON_ARGUMENTS + 11}])) - inflight
answer[9] = expires
local grants, texts, granted = answer[10], answer[11], 0

if not happy or any_alone or min(room, limit) * largest > request.bytes then
  local pass = progress().claim(request, candidates, room, any_alone)
  granted, answer[7], answer[8] = pass.granted - elsewhere.granted, pass.more and 1 or 0, pass.died
  answer[12], answer[13] = pass.closed and 1 or 0, pass.suspects
  for g = 1, #pass.grants do
    local given = pass.grants[g]
    local entries, sequences = given.entries, given.sequences
    if not given.sorted then
      local order = {}
      for k = 1, #entries do order[k] = { sequences[k], entries[k] } end
      sort(order, function(a, b) return a[1] < b[1] end)
      for k = 1, #order do sequences[k], entries[k] = order[k][1], order[k][2] end
    end
    for k = 1, #entries do
      local n = #texts
      texts[n + 1], texts[n + 2] = texts_of(entries[k])
    end
    local n = #grants
    grants[n + 1], grants[n + 2], grants[n + 3], grants[n + 4] = given.i - 1, given.token, given.attempt, progress().text_of_sequences(sequences)
  end
elseif room > 0 then
  -- the happy path: of each place in turn the next range
  room = min(room, limit)
  turn.streak = 0
  local start = 1
  if #candidates > 1 then
    while start < #candidates and candidates[start].i <= turn.partition % #KEYS do start = start + 1 end
    if candidates[start].i <= turn.partition % #KEYS then start = 1 end
    turn.partition = candidates[start].i % #KEYS
  end
  for k = 0, #candidates - 1 do
    if room == 0 then break end
    local i = candidates[(start + k - 1) % #candidates + 1].i
    local place = place_of(i)
    local first, last = place.cursor + 1, min(place.cursor + room, log_of(i).high)
    local entries, count = whole(call('XRANGE', tags[i] .. ':log', first, last), first, last), last - first + 1
    for n = 1, count do
      local at = 2 * (granted + n)
      texts[at - 1], texts[at] = texts_of(entries[n])
    end
    room, granted = room - count, granted + count
    place.expiry = place.open == 0 and expires or min(place.expiry, expires)
    place.cursor, place.token, place.open, place.changed = last, place.token + 1, place.open + count, true
    local token = int(place.token)
    call('HSET', place.key .. ':leases', token, format('%d-%d %d 1 0 0 %d %d - %s', first, last, count, now, expires, request.consumer))
    call('ZADD', place.key .. ':expiries', expires, token)
    local n = #grants
    grants[n + 1], grants[n + 2], grants[n + 3], grants[n + 4] = i - 1, place.token, 1, format('%d-%d', first, last)
  end
end
if granted > 0 then touch_member(request.consumer) end
return finish()
`;
