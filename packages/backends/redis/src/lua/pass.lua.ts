/**
 * One fetch under way: the twin of `pass` in core's progress. What it may still take is `left`, `bytes` and `scan`; what it has taken is
 * `granted`, `suspects` (of these the crash suspects), `grants` and `died`; `run` is how many of a lane may be leased together; `closed` when nothing more may be given; `more` when a bound of
 * its own ended it. `elsewhere` is what the group holds in partitions that are not at hand: inflight, alone, held, searching, since; and what this fetch was
 * granted there, and under which token it was here before.
 */
import { lua } from "./lua.ts";

export const PASS: string = lua`
local pass

local function is_open()
  return pass.left > 0 and pass.bytes > 0 and not pass.closed
end

-- The token for all that this fetch claims in a place: the next after the last (F1).
local function token_in(place)
  if place.token == place.before then place.token = place.before + 1 end
  return place.token
end

-- Whether this fetch gave the token.
local function is_own(place, token)
  return token > place.before
end

-- What the member held before this fetch, over all partitions: how many, whether it searches among suspects or has a last attempt, and
-- when the last attempt was given that keeps it from other work. Cost: what is in flight.
local function held()
  if pass.held then return pass.held end
  local found = { count = pass.elsewhere.held, searching = pass.elsewhere.searching == 1, since = pass.elsewhere.since }
  local function note(place, record, expires)
    if record.consumer ~= pass.consumer or expires <= now or is_own(place, record.token) then return end
    found.count = found.count + 1
    if record.takeovers > 1 or record.alone == 2 then found.searching = true end
    if record.alone == 2 then found.since = max(found.since, record.leased) end
  end
  for i = 1, #KEYS do
    local place = place_of(i)
    local rows, singles = all_rows(place), running_exceptions(place)
    for k = 1, #rows do note(place, rows[k], rows[k].expires) end
    for k = 1, #singles do note(place, singles[k], singles[k].due) end
  end
  pass.held = found
  return found
end

-- How many of these events, from the first on, fit in the bytes left; at least one if nothing was given yet.
local function affordable(entries)
  local bytes = pass.bytes
  for k = 1, #entries do
    bytes = bytes - size_of(entries[k])
    if bytes < 0 and k - 1 + pass.granted > 0 then return k - 1 end
  end
  return #entries
end

-- Notes an event as given, with those of the same partition and attempt.
local function grant(place, attempt, sequence, entry)
  pass.left = pass.left - 1
  pass.granted = pass.granted + 1
  pass.bytes = pass.bytes - size_of(entry)
  local name = place.i .. '/' .. attempt
  local given = pass.grants[name]
  if not given then
    given = { i = place.i, token = token_in(place), attempt = attempt, entries = {}, sequences = {}, sorted = true }
    pass.grants[name] = given
    pass.grants[#pass.grants + 1] = given
  end
  local n = #given.entries
  if n > 0 and given.sequences[n] > sequence then given.sorted = false end
  given.entries[n + 1], given.sequences[n + 1] = entry, sequence
end

-- What a dead letter says whose lease ran out.
local function expiry_reason(consumer, attempt)
  return format('The lease of attempt %d ran out: consumer "%s" stopped, hung or was cut off before settling.', attempt, consumer)
end

-- A dead letter, for a delivery whose record the caller has removed.
local function bury_in(place, letter)
  bury(place, letter, events_at(place.i, { letter.sequence }, huge)[1])
  local died = pass.died
  died[#died + 1], died[#died + 2], died[#died + 3] = place.i - 1, letter.sequence, letter.reason
end
`;

/** Last attempts of crash suspects: the twin of `last-chance` (T5). */
export const LAST_CHANCE: string = lua`
-- A last attempt that runs longer than this many lease lengths no longer keeps its member from other work.
local RESERVED_LEASES = 10

-- Whether a search for the killer among suspects must wait, because this member is in one, or in a last attempt, already.
local function is_searching()
  return pass.suspects > 0 or held().searching
end

-- Whether this member must be given nothing, because it holds a last attempt.
local function is_reserved()
  return now - held().since < RESERVED_LEASES * pass.lease
end

-- The attempt of an expired single lease: the last, if it is proven that it ran alone before, or has not crashed before; else one more start
-- at the number that it has, so that it is not charged for what it was beside.
local function attempt_of(record)
  if record.alone > 0 or record.takeovers == 0 then return config.attempts end
  return max(record.attempt, config.attempts - 1)
end

-- How alone a suspect's last attempt, or last but one, may be granted now; nil: not now. A busy member is given nothing for one lease
-- length, so that it becomes idle. If it does not, the attempt is granted all the same; but then its expiry proves nothing.
local function chance_of(waiting_since)
  if pass.granted == 0 and held().count == 0 then return 2 end
  if now - waiting_since > pass.lease then
    if not is_searching() then return 0 end
  elseif pass.granted == 0 then pass.closed = true end
end

-- What a member holds in a place is no longer alone: what is so at most so much, or is live.
local function clear_alone(place, consumer, most, keeps)
  if place.alone == 0 then return end
  local function clear(record, expires)
    local meant = record.alone > 0 and (record.alone <= most or expires > now)
    if record.consumer ~= consumer or not meant or (keeps and keeps(place, record.token)) then return false end
    set_alone(place, record, 0)
    return true
  end
  local rows, singles = all_rows(place), running_exceptions(place, true)
  for k = 1, #rows do
    if clear(rows[k], rows[k].expires) then place.dirty[rows[k].token] = true end
  end
  for k = 1, #singles do
    if clear(singles[k], singles[k].due) then place.touched[singles[k].sequence] = true end
  end
end

-- Marks what happens to be all that its member holds, where that is going to matter.
local function mark_chance_alone()
  local only = pass.grants[1]
  if pass.granted ~= 1 or only.attempt < config.attempts - 1 or held().count > 0 then return end
  local place = place_of(only.i)
  local row, x = rows_of(place, only.token)[1], exception_at(place, only.sequences[1])
  if row and row.alone == 0 then
    set_alone(place, row, 1)
    place.dirty[only.token] = true
  end
  if x and x.alone == 0 then
    set_alone(place, x, 1)
    put_exception(place, x)
  end
end
`;
