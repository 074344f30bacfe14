/** Fetching beyond the happy path: the twin of `claim` and `turn` in core's progress (G2–G9). The happy path is in `exchange.lua.ts`. */
import { LIMITS } from "@rheo/core/internal";
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";
import { SCAN_PER_SCRIPT } from "./take-new.lua.ts";

/** Which places have anything to claim, and what is in flight over all of them. Cost: two to five calls each, and what has run out. */
export const SURVEY: string = lua`
-- Unexpired leases of a place, and what there is to claim.
local function survey(i)
  local place, log = place_of(i), log_of(i)
  local found = { i = i, backlog = place.cursor < log.high, due = false, expired = false, exceptions = place.exceptions > 0, inflight = place.open }
  if place.open == 0 then place.expiry = huge
  elseif place.expiry <= now then
    local rows = expired_rows(place)
    for k = 1, #rows do found.inflight = found.inflight - rows[k].open end
    found.expired = #rows > 0
    place.expiry = tonumber(call('ZRANGE', place.key .. ':expiries', 0, 0, 'WITHSCORES')[2])
  end
  if place.exceptions == 0 then place.due = huge
  else
    found.inflight = found.inflight + call('ZCOUNT', place.key .. ':running', '(' .. int(now), '+inf')
    if place.due <= now then
      local waiting = call('ZRANGE', place.key .. ':waiting', 0, 0, 'WITHSCORES')
      local running = call('ZRANGE', place.key .. ':running', 0, 0, 'WITHSCORES')
      place.due = min(tonumber(waiting[2]) or huge, tonumber(running[2]) or huge)
      found.due = place.due <= now
    end
  end
  return found
end
`;

export const CLAIM: string = lua`
-- After this many fetches in a row that put due deliveries first, one rotates plainly and keeps half of itself for new events.
local DUE_STREAK = 3

local function is_due(candidate)
  return candidate.due or candidate.expired
end

-- The order in which one fetch visits partitions, and whether it keeps half of itself for new events; moves the turn on (G3, G4).
local function next_visit(candidates, turn)
  local due, backlog = false, false
  for k = 1, #candidates do
    due = due or is_due(candidates[k])
    backlog = backlog or candidates[k].backlog
  end
  local contested = due and backlog
  local due_first = contested and turn.streak < DUE_STREAK
  turn.streak = due_first and turn.streak + 1 or 0
  if #candidates == 1 then return candidates, contested and not due_first end
  local start, rotated = turn.partition % #KEYS + 1, {}
  for k = 1, #candidates do
    if candidates[k].i >= start then rotated[#rotated + 1] = candidates[k] end
  end
  for k = 1, #candidates do
    if candidates[k].i < start then rotated[#rotated + 1] = candidates[k] end
  end
  if not due_first then
    turn.partition = rotated[1].i % #KEYS
    return rotated, contested
  end
  local sorted = {}
  for k = 1, #rotated do
    if is_due(rotated[k]) then sorted[#sorted + 1] = rotated[k] end
  end
  for k = 1, #rotated do
    if not is_due(rotated[k]) then sorted[#sorted + 1] = rotated[k] end
  end
  return sorted, false
end

-- Takes from one place; so much of what is left is for new events. What was changed is written, so that a later look finds it.
local function visit(candidate, reserved, matches)
  local place = place_of(candidate.i)
  local ordered = config.ordering ~= 'none'
  local order = ordered and key_order(place, candidate.exceptions) or OPEN_ORDER
  local spare = min(reserved, pass.left)
  pass.left = pass.left - spare
  if candidate.expired and is_open() then take_expired(place, order) end
  if (candidate.due or (ordered and candidate.exceptions)) and is_open() then take_due(place, order) end
  pass.left = pass.left + spare
  if candidate.backlog and is_open() then take_new(place, order, matches) end
  flush_leases(place)
  flush_exceptions(place)
end

-- Candidates are what a survey found worth a look. reserved: how much is for new events where the caller has decided that; the caller then
-- has one place. Leaves in pass what was granted.
local function claim(request, candidates, room, any_alone)
  pass = {
    consumer = request.consumer, lease = request.lease, expires = now + request.lease, left = min(request.limit, room), bytes = request.bytes,
    limit = request.limit, scan = min(${LIMITS.scanPerFetch}, max(request.limit, ${SCAN_PER_SCRIPT})), granted = request.elsewhere.granted, suspects = 0, grants = {},
    died = {}, elsewhere = request.elsewhere, run = request.run,
  }
  for i = 1, #KEYS do place_of(i).before = place_of(i).token end
  -- a Cluster's fetch that was here before goes on with its token, if nobody else has been here since
  if request.elsewhere.token == place_of(1).token then place_of(1).before = place_of(1).token - 1 end
  if is_open() and not (any_alone and is_reserved()) then
    local filter = config.filter
    local matches = filter ~= '' and matcher_of(filter) or nil
    local visits, reserves = candidates, false
    if not request.reserved then visits, reserves = next_visit(candidates, request.turn) end
    local reserved = request.reserved or (reserves and ceil(pass.left / 2)) or 0
    for k = 1, #visits do
      if is_open() then visit(visits[k], reserved, matches) end
    end
    for k = 1, reserved > 0 and not request.reserved and #visits or 0 do
      if is_open() then visit(visits[k], 0, matches) end
    end
  end
  if any_alone and pass.granted > 0 then
    for i = 1, #KEYS do clear_alone(place_of(i), pass.consumer, 1, is_own) end
  end
  -- on a Cluster the caller sees what was granted in all
  if ARGV[4] ~= '1' then mark_chance_alone() end
  return pass
end
`;

/**
 * A look at one partition of a Cluster, for a member: version, "1" when paused, attempts, inflight ("": the default), backlog, due, expired,
 * exceptions, in flight, records that are alone, how many the member holds, whether it searches, since when it has a last attempt ("-"), and
 * whether that keeps it from other work.
 * Cost: as a survey, and what is in flight.
 */
export const SURVEY_AT: string = lua`
local function survey_at(consumer, lease)
  local place, found = place_of(1), survey(1)
  local holds = { count = 0, searching = false, since = -huge }
  if place.open + place.exceptions > 0 then
    pass = { consumer = consumer, lease = tonumber(lease) or config.lease, elsewhere = { held = 0, searching = 0, since = -huge } }
    place.before = place.token
    holds = held()
    holds.reserved = is_reserved()
  end
  local function flag(value)
    return value and 1 or 0
  end
  return {
    tonumber(call('HGET', group_key(1), 'version')), flag(config.paused), config.attempts, config.inflight or '', flag(found.backlog),
    flag(found.due), flag(found.expired), flag(found.exceptions), found.inflight, place.alone, holds.count, flag(holds.searching),
    holds.since == -huge and '-' or int(holds.since), flag(holds.reserved),
  }
end
`;

/** The look alone. ARGV: consumer, lease in ms ("": the group's). Answers `{ "stream" | "other" | "group" }` or `{ "ok", look }`. */
export const LOOK_AT: string = lua`
local missing = missing_group()
if missing then return { missing } end
return { 'ok', survey_at(ARGV[${COMMON_ARGUMENTS + 1}], ARGV[${COMMON_ARGUMENTS + 2}]) }
`;

/** What a member holds in a partition is no longer alone. ARGV: consumer, at most so alone unless it is live. Answers `{ "ok" }`. */
export const CLEAR_ALONE_AT: string = lua`
local missing = missing_group()
if missing then return { missing } end
clear_alone(place_of(1), ARGV[${COMMON_ARGUMENTS + 1}], tonumber(ARGV[${COMMON_ARGUMENTS + 2}]))
flush(place_of(1))
return { 'ok' }
`;

/** The only delivery that a member was given, and holds, is alone. ARGV: token, sequence. Answers `{ "ok" }`. */
export const MARK_ALONE_AT: string = lua`
local missing = missing_group()
if missing then return { missing } end
local place, token, sequence = place_of(1), tonumber(ARGV[${COMMON_ARGUMENTS + 1}]), tonumber(ARGV[${COMMON_ARGUMENTS + 2}])
local row, x = rows_of(place, token)[1], exception_at(place, sequence)
if row and row.alone == 0 and row.open == 1 then
  set_alone(place, row, 1)
  place.dirty[token] = true
end
if x and x.state == 'l' and x.token == token and x.alone == 0 then
  set_alone(place, x, 1)
  put_exception(place, x)
end
flush(place)
return { 'ok' }
`;
