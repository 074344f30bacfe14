/**
 * The records of a group in one partition: read when needed, kept while the script runs, and written together by `flush`. The twin of
 * `records` and `writes` in core's progress. Keys, from the hash `T:g:<group>`:
 *
 * | key | holds |
 * |---|---|
 * | itself | hash: the group's options, and in the field `progress` where it stands: cursor, open (positions leased in batches), exceptions, alone (records that are), expiry (not later than the earliest of a batch), token, reset, start, skipped, revoked (how often), due (not later than the earliest of an exception), dead (letters; "-" or nothing: not counted yet) |
 * | `:leases` | hash: token → batches leased under it, as `runs open attempt takeovers alone leased expires failed consumer`, apart by `;` |
 * | `:expiries` | sorted set: token by its earliest expiry |
 * | `:exceptions` | hash: sequence → the delivery that left the happy path |
 * | `:order` | sorted set: their sequences |
 * | `:waiting` | sorted set: those pending and retrying by when they are due |
 * | `:running` | sorted set: those leased by their expiry |
 * | `:dead` | sorted set: dead letters by sequence |
 * | `:revocations` | sorted set: what was taken from a token, by token |
 * | `:members` | sorted set: members by when they were last seen (in the first partition at hand) |
 *
 * Sequences as members and fields have 16 digits, so that their order as text is their order.
 */
import { lua } from "./lua.ts";

/** Where the group stands, and what it is; `false` when it is not there. Cost: one read per partition. */
export const PLACES: string = lua`
local KINDS = { ':leases', ':expiries', ':exceptions', ':order', ':waiting', ':running', ':dead', ':revocations', ':members' }
local places, config = {}, nil

local function group_key(i)
  return tags[i] .. ':g:' .. group
end

local function keys_of_group(i)
  local keys = { group_key(i) }
  for k = 1, #KINDS do keys[k + 1] = keys[1] .. KINDS[k] end
  return keys
end

local function place_of_text(i, key, text)
  local cursor, open, exceptions, alone, expiry, token, reset, start, skipped, revoked, due, dead =
    match(text, '^(%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) ?(%S*)$')
  local place = {
    i = i, key = key, cursor = tonumber(cursor), open = tonumber(open), exceptions = tonumber(exceptions), alone = tonumber(alone),
    expiry = tonumber(expiry) or huge, token = tonumber(token), reset = tonumber(reset), start = tonumber(start), skipped = tonumber(skipped),
    revoked = tonumber(revoked), due = tonumber(due) or huge, dead = tonumber(dead), rows = {}, dirty = {}, found = {}, touched = {}, lane = {},
  }
  places[i] = place
  return place
end

-- The options of the group are those that it has in the first place looked at.
local function place_of(i)
  local place = places[i]
  if place ~= nil then return place end
  local key = group_key(i)
  if config then
    local text = call('HGET', key, 'progress')
    return text and place_of_text(i, key, text)
  end
  local v = call('HMGET', key, 'progress', 'paused', 'attempts', 'lease', 'ordering', 'inflight', 'filter')
  if not v[1] then
    places[i] = false
    return false
  end
  config = { paused = v[2] == '1', attempts = tonumber(v[3]), lease = tonumber(v[4]), ordering = v[5], inflight = tonumber(v[6]), filter = v[7] }
  return place_of_text(i, key, v[1])
end

-- Nil, or what is not there (G5).
local function missing_group()
  local missing = missing_stream()
  if missing then return missing end
  guard(keys_of_group(1))
  if not place_of(1) then return 'group' end
end

local function bound_text(bound)
  return bound == huge and '-' or int(bound)
end

local function progress_text(place)
  return format('%d %d %d %d %s %d %d %d %d %d %s %s', place.cursor, place.open, place.exceptions, place.alone, bound_text(place.expiry), place.token,
    place.reset, place.start, place.skipped, place.revoked, bound_text(place.due), place.dead and int(place.dead) or '-')
end

-- So many dead letters more, or fewer.
local function count_letters(place, more)
  if more == 0 then return end
  place.dead, place.changed = place.dead and place.dead + more, true
end

-- Writes where the place stands, if anything was noted as changed. Bounds alone are not worth a write.
local function flush_head(place)
  if not place.changed then return end
  place.changed = false
  call('HSET', place.key, 'progress', progress_text(place))
end
`;

/** Batches leased in one fetch: rows `{ token, runs, open, attempt, takeovers, alone, leased, expires, failed, consumer }`. */
export const LEASES: string = lua`
local function row_of_text(token, text)
  local runs, open, attempt, takeovers, alone, leased, expires, failed, consumer =
    match(text, '^(%S+) (%d+) (%d+) (%d+) (%d) (%S+) (%S+) (%S+) (%S+)$')
  return {
    token = token, runs = runs_of_text(runs), open = tonumber(open), attempt = tonumber(attempt), takeovers = tonumber(takeovers),
    alone = tonumber(alone), leased = tonumber(leased), expires = tonumber(expires), failed = tonumber(failed), consumer = consumer,
  }
end

local function text_of_row(row)
  return format('%s %d %d %d %d %d %d %s %s', text_of_runs(row.runs), row.open, row.attempt, row.takeovers, row.alone, row.leased, row.expires,
    row.failed and int(row.failed) or '-', row.consumer)
end

local function rows_of_text(token, text)
  local rows = {}
  if text then
    for part in gmatch(text, '[^;]+') do rows[#rows + 1] = row_of_text(token, part) end
  end
  return rows
end

local function rows_of(place, token)
  local rows = place.rows[token]
  if not rows then
    rows = rows_of_text(token, call('HGET', place.key .. ':leases', int(token)))
    place.rows[token] = rows
  end
  return rows
end

local function copy_of(list)
  local copy = {}
  for k = 1, #list do copy[k] = list[k] end
  return copy
end

local function by_first(a, b)
  return a.runs[1] < b.runs[1]
end

-- All batches, by first sequence. Cost: the batches in flight.
local function all_rows(place)
  if not place.complete then
    local all = place.open > 0 and call('HGETALL', place.key .. ':leases') or {}
    for k = 1, #all, 2 do
      local token = tonumber(all[k])
      if not place.rows[token] then place.rows[token] = rows_of_text(token, all[k + 1]) end
    end
    place.complete = true
  end
  local found = {}
  for _, rows in pairs(place.rows) do
    for k = 1, #rows do found[#found + 1] = rows[k] end
  end
  sort(found, by_first)
  return found
end

-- Those that have run out, by first sequence. Cost: these.
local function expired_rows(place)
  local tokens = call('ZRANGEBYSCORE', place.key .. ':expiries', '-inf', now)
  local found = {}
  for k = 1, #tokens do
    local rows = rows_of(place, tonumber(tokens[k]))
    for n = 1, #rows do
      if rows[n].expires <= now then found[#found + 1] = rows[n] end
    end
  end
  sort(found, by_first)
  return found
end

local function set_alone(place, record, alone)
  if record.alone > 0 then place.alone = place.alone - 1 end
  if alone > 0 then place.alone = place.alone + 1 end
  record.alone = alone
end

local function put_row(place, row)
  local rows = rows_of(place, row.token)
  rows[#rows + 1] = row
  place.dirty[row.token] = true
  place.expiry = place.open == 0 and row.expires or min(place.expiry, row.expires)
  place.open = place.open + row.open
  if row.alone > 0 then place.alone = place.alone + 1 end
end

-- Leaves these positions open in a batch; none: the batch is gone.
local function keep_open(place, row, runs)
  local open = size_of_runs(runs)
  place.open = place.open - row.open + open
  place.dirty[row.token] = true
  row.runs, row.open = runs, open
  if open > 0 then return end
  local rows = rows_of(place, row.token)
  for k = #rows, 1, -1 do
    if rows[k] == row then table.remove(rows, k) end
  end
  if row.alone > 0 then place.alone = place.alone - 1 end
end

local function flush_leases(place)
  local gone, set, scores = {}, {}, {}
  for token in pairs(place.dirty) do
    local rows, name = place.rows[token], int(token)
    if #rows == 0 then gone[#gone + 1] = name
    else
      local texts, expires = {}, huge
      for k = 1, #rows do
        texts[k] = text_of_row(rows[k])
        expires = min(expires, rows[k].expires)
      end
      set[#set + 1], set[#set + 2] = name, concat(texts, ';')
      scores[#scores + 1], scores[#scores + 2] = int(expires), name
    end
    place.changed = true
  end
  place.dirty = {}
  if #gone > 0 then
    call_with('HDEL', place.key .. ':leases', gone)
    call_with('ZREM', place.key .. ':expiries', gone)
  end
  if #set > 0 then
    call_with('HSET', place.key .. ':leases', set)
    call_with('ZADD', place.key .. ':expiries', scores)
  end
end
`;

/**
 * Deliveries that left the happy path: `{ sequence, state, attempt, takeovers, token, alone, consumer, leased, due, first, failed, key,
 * reason, stack }` with the states p(ending), r(etrying), l(eased), k (parked behind its key). As text: numbers and names, then the lengths
 * of key, reason and stack (-1: none), a line feed, and these three. What is parked has nothing but a key: `k` and the key.
 */
export const EXCEPTIONS: string = lua`
local LANES = { p = ':waiting', r = ':waiting', l = ':running' }

local function name_of(sequence)
  return format('%016d', sequence)
end

local function optional(number)
  return number and int(number) or '-'
end

local function length_of(text)
  return text and #text or -1
end

-- Texts one after another, of these lengths, from a place on.
local function texts_in(text, from, lengths)
  local texts = {}
  for k = 1, #lengths do
    local length = tonumber(lengths[k])
    if length >= 0 then
      texts[k] = sub(text, from, from + length - 1)
      from = from + length
    end
  end
  return texts
end

local function parked_behind(sequence, key)
  return { sequence = sequence, state = 'k', attempt = 0, takeovers = 0, token = 0, alone = 0, leased = 0, key = key }
end

local function exception_of_text(sequence, text)
  if sub(text, 1, 1) == 'k' then return parked_behind(sequence, sub(text, 2)) end
  local _, stop, state, attempt, takeovers, token, alone, consumer, leased, due, first, failed, key, reason, stack =
    find(text, '^(%a) (%d+) (%d+) (%d+) (%d) (%S+) (%S+) (%S+) (%S+) (%S+) (%-?%d+) (%-?%d+) (%-?%d+)\n')
  local texts = texts_in(text, stop + 1, { key, reason, stack })
  return {
    sequence = sequence, state = state, attempt = tonumber(attempt), takeovers = tonumber(takeovers), token = tonumber(token),
    alone = tonumber(alone), consumer = consumer ~= '-' and consumer or nil, leased = tonumber(leased), due = tonumber(due),
    first = tonumber(first), failed = tonumber(failed), key = texts[1], reason = texts[2], stack = texts[3],
  }
end

local function text_of_exception(x)
  if x.state == 'k' then return 'k' .. x.key end
  return format('%s %d %d %d %d %s %d %s %s %s %d %d %d\n', x.state, x.attempt, x.takeovers, x.token, x.alone, x.consumer or '-', x.leased,
    optional(x.due), optional(x.first), optional(x.failed), length_of(x.key), length_of(x.reason), length_of(x.stack))
    .. (x.key or '') .. (x.reason or '') .. (x.stack or '')
end

-- Reads those of these sequences that are not known yet.
local function read_exceptions(place, sequences)
  local wanted, names = {}, {}
  for k = 1, #sequences do
    if place.found[sequences[k]] == nil then
      wanted[#wanted + 1] = sequences[k]
      names[#names + 1] = name_of(sequences[k])
    end
  end
  if #names == 0 then return end
  local texts = call_with('HMGET', place.key .. ':exceptions', names)
  for k = 1, #wanted do
    local x = texts[k] and exception_of_text(wanted[k], texts[k]) or false
    place.found[wanted[k]] = x
    if x then place.lane[wanted[k]] = LANES[x.state] end
  end
end

local function exception_at(place, sequence)
  local x = place.found[sequence]
  if x == nil then
    if place.exceptions == 0 then return false end
    read_exceptions(place, { sequence })
    x = place.found[sequence]
  end
  return x
end

-- Of these names, in their order.
local function exceptions_named(place, names)
  local sequences, found = {}, {}
  for k = 1, #names do sequences[k] = tonumber(names[k]) end
  read_exceptions(place, sequences)
  for k = 1, #sequences do
    local x = place.found[sequences[k]]
    if x then found[#found + 1] = x end
  end
  return found
end

-- All, by sequence. Cost: these.
local function all_exceptions(place)
  if place.exceptions == 0 then return {} end
  return exceptions_named(place, call('ZRANGE', place.key .. ':order', 0, -1))
end

local function by_due(a, b)
  if a.due ~= b.due then return a.due < b.due end
  return a.sequence < b.sequence
end

-- At most so many of those due by now, the longest due first. Cost: twice as many.
local function due_exceptions(place, limit)
  local names = call('ZRANGEBYSCORE', place.key .. ':waiting', '-inf', now, 'LIMIT', 0, limit)
  local running = call('ZRANGEBYSCORE', place.key .. ':running', '-inf', now, 'LIMIT', 0, limit)
  for k = 1, #running do names[#names + 1] = running[k] end
  local found = exceptions_named(place, names)
  sort(found, by_due)
  for k = limit + 1, #found do found[k] = nil end
  return found
end

-- Those leased, unexpired ones only or all.
local function running_exceptions(place, all)
  if place.exceptions == 0 then return {} end
  return exceptions_named(place, call('ZRANGEBYSCORE', place.key .. ':running', all and '-inf' or '(' .. int(now), '+inf'))
end

-- A new one, or one that was read and changed; the caller sees to what is alone by set_alone.
local function put_exception(place, x)
  place.found[x.sequence] = x
  place.touched[x.sequence] = true
  if x.due then place.due = min(place.due, x.due) end
end

local function delete_exception(place, x)
  set_alone(place, x, 0)
  place.found[x.sequence] = false
  place.touched[x.sequence] = true
end

local function flush_exceptions(place)
  local gone, set, order = {}, {}, {}
  local leaving, entering = { [':waiting'] = {}, [':running'] = {} }, { [':waiting'] = {}, [':running'] = {} }
  for sequence in pairs(place.touched) do
    local x, name, before = place.found[sequence], name_of(sequence), place.lane[sequence]
    local after = x and LANES[x.state]
    if x then
      set[#set + 1], set[#set + 2] = name, text_of_exception(x)
      order[#order + 1], order[#order + 2] = int(sequence), name
    else gone[#gone + 1] = name end
    if before and before ~= after then leaving[before][#leaving[before] + 1] = name end
    if after then
      local lane = entering[after]
      lane[#lane + 1], lane[#lane + 2] = int(x.due), name
    end
    place.lane[sequence] = after or nil
    place.changed = true
  end
  place.touched = {}
  for lane, names in pairs(leaving) do
    if #names > 0 then call_with('ZREM', place.key .. lane, names) end
  end
  if #gone > 0 then
    call_with('HDEL', place.key .. ':exceptions', gone)
    place.exceptions = place.exceptions - call_with('ZREM', place.key .. ':order', gone)
  end
  if #set > 0 then
    call_with('HSET', place.key .. ':exceptions', set)
    place.exceptions = place.exceptions + call_with('ZADD', place.key .. ':order', order)
  end
  for lane, scores in pairs(entering) do
    if #scores > 0 then call_with('ZADD', place.key .. lane, scores) end
  end
end

-- Writes what was changed.
local function flush(place)
  flush_leases(place)
  flush_exceptions(place)
  flush_head(place)
end
`;

/** Dead letters, and what was taken from tokens. */
export const LETTERS: string = lua`
local REVOCATIONS_KEPT = 256

-- As text: sequence, attempts, times, consumer, the lengths of event id, reason and stack (-1: none), a line feed, and these three.
local function bury(place, letter, entry)
  local id = entry and id_of(entry) or ''
  local text = format('%d %d %d %d %s %d %d %d\n', letter.sequence, letter.attempts, letter.first, now, letter.consumer or '-', #id, #letter.reason,
    length_of(letter.stack)) .. id .. letter.reason .. (letter.stack or '')
  count_letters(place, call('ZADD', place.key .. ':dead', letter.sequence, text))
  place.changed = true
end

local function letter_of_text(text)
  local _, stop, sequence, attempts, first, dead, consumer, id, reason, stack =
    find(text, '^(%d+) (%d+) (%S+) (%S+) (%S+) (%d+) (%d+) (%-?%d+)\n')
  local texts = texts_in(text, stop + 1, { id, reason, stack })
  return {
    sequence = tonumber(sequence), attempts = tonumber(attempts), first = tonumber(first), dead = tonumber(dead),
    consumer = consumer ~= '-' and consumer or '', id = texts[1], reason = texts[2], stack = texts[3],
  }
end

-- How many dead letters are counted that are not there, or fewer than none; 0 where they are not counted yet.
local function letters_lost(place)
  return place.dead and place.dead - call('ZCARD', place.key .. ':dead') or 0
end

local function letter_at(place, sequence)
  local text = call('ZRANGEBYSCORE', place.key .. ':dead', sequence, sequence)[1]
  return text and letter_of_text(text)
end

-- Remembers that deliveries were taken from a token, and drops those with the lowest tokens beyond what is kept. As text: a number of
-- its own, so that none is like another, why (R, X), and the runs.
local function revoke(place, token, runs, why)
  local key = place.key .. ':revocations'
  place.revoked, place.changed = place.revoked + 1, true
  call('ZADD', key, token, format('%016d %s %s', place.revoked, why, text_of_runs(runs)))
  local over = call('ZCARD', key) - REVOCATIONS_KEPT
  if over > 0 then call('ZREMRANGEBYRANK', key, 0, over - 1) end
end

-- Why a token no longer holds deliveries, by sequence: R(eclaimed), S(ettled), X (reset), G(one). Settled is said only when nobody took
-- it away first (F7).
local function why_stale_in(place, token)
  local log = log_of(place.i)
  if token <= place.reset then
    return function() return 'X' end
  end
  if token > place.token then
    return function() return 'G' end
  end
  local key = place.key .. ':revocations'
  local revoked = call('ZRANGEBYSCORE', key, token, token)
  local runs, whys = {}, {}
  for k = 1, #revoked do
    local why, text = match(revoked[k], '^%d+ (%a) (%S+)$')
    runs[k], whys[k] = runs_of_text(text), why
  end
  local oldest = call('ZCARD', key) >= REVOCATIONS_KEPT and tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) or 0
  return function(sequence)
    if sequence > log.high or sequence < log.first then return 'G' end
    for k = 1, #runs do
      if holds(runs[k], sequence) then return whys[k] end
    end
    return token < oldest and 'R' or 'S'
  end
end
`;

/** Notes that a member was here, at most once a second; of those that are gone the longest gone are forgotten. */
export const MEMBERS: string = lua`
local MEMBERS_KEPT = 1000

local function touch_member(consumer)
  local key = group_key(1) .. ':members'
  local seen = call('ZSCORE', key, consumer)
  if seen and tonumber(seen) <= now and tonumber(seen) > now - 1000 then return end
  if call('ZADD', key, now, consumer) == 1 then
    local over = call('ZCARD', key) - MEMBERS_KEPT
    if over > 0 then call('ZREMRANGEBYRANK', key, 0, over - 1) end
  end
end
`;
