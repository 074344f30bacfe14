/**
 * Settling: the twin of `settle` in core's progress (F2–F4, T1–T4, T6). An outcome is `{ kind, delay, reason, stack }` with the kinds a(ck),
 * p(ending: release), r(etry), j (reject). An answer is codes with runs, such as `a1-5 S6-7`: a(cked), p(ending), r(etrying), d(ead), and
 * stale: R(eclaimed), S(ettled), X (reset), G(one).
 */
import { lua } from "./lua.ts";

export const SETTLE: string = lua`
-- The outcome of a delivery whose lease record is no more; x: as an exception, which is only kept if it goes on.
local function apply(place, x, outcome, entry)
  local kind = outcome.kind
  if kind == 'p' then
    x.state, x.attempt, x.due = 'p', x.attempt - 1, 0
    put_exception(place, x)
    return 'p'
  end
  if kind == 'j' or x.attempt >= config.attempts then
    local letter = { sequence = x.sequence, attempts = x.attempt, reason = outcome.reason, stack = outcome.stack, consumer = x.consumer, first = x.first or now }
    bury(place, letter, entry)
    return 'd'
  end
  x.state, x.takeovers = 'r', 0 -- it failed by itself, so it does not crash its process
  x.due, x.first, x.failed = now + outcome.delay, x.first or now, now
  x.reason, x.stack = outcome.reason, outcome.stack
  put_exception(place, x)
  return 'r'
end

-- Deliveries leave their batch; all of them become the same. Cost: none for an ack, else one event and one record each.
local function leave(place, row, taken, outcome)
  if outcome.kind == 'a' then return 'a' end
  local sequences, code = sequences_of(taken), nil
  local dies = outcome.kind == 'j' or (outcome.kind == 'r' and row.attempt >= config.attempts)
  local entries = (dies or config.ordering == 'key') and events_by_sequence(place.i, sequences) or {}
  for k = 1, #sequences do
    local entry = entries[sequences[k]]
    code = apply(place, {
      sequence = sequences[k], state = 'l', attempt = row.attempt, takeovers = row.takeovers, token = row.token, alone = 0, consumer = row.consumer,
      leased = row.leased, due = row.expires, first = row.failed, key = config.ordering == 'key' and entry and field_of(entry, 'key') or nil,
    }, outcome, entry)
  end
  return code
end

-- Of these the ones that are leased by themselves under the token; by sequence.
local function singles_of(place, token, sequences)
  if place.exceptions == 0 and next(place.touched) == nil then return {} end
  local singles = {}
  read_exceptions(place, sequences)
  for k = 1, #sequences do
    local x = place.found[sequences[k]]
    if x and x.state == 'l' and x.token == token then singles[sequences[k]] = x end
  end
  return singles
end

local function settle_single(place, x, outcome)
  local dies = outcome.kind == 'j' or (outcome.kind == 'r' and x.attempt >= config.attempts)
  if outcome.kind == 'a' or dies then delete_exception(place, x) else set_alone(place, x, 0) end
  if outcome.kind == 'a' then return 'a' end
  return apply(place, x, outcome, dies and events_at(place.i, { x.sequence }, huge)[1])
end

local function code_text(code, runs)
  return code .. text_of_runs(runs)
end

-- Settles deliveries under one token; the answer.
local function settle(place, token, wanted, outcome)
  local parts, rest = {}, wanted
  local rows = copy_of(rows_of(place, token))
  for k = 1, #rows do
    local row = rows[k]
    local taken, kept = divide(row.runs, rest)
    if #taken > 0 then
      keep_open(place, row, kept)
      parts[#parts + 1] = code_text(leave(place, row, taken, outcome), taken)
      local _
      _, rest = divide(rest, taken)
    end
  end
  if #rest > 0 then
    local sequences = sequences_of(rest)
    local singles, why, codes = singles_of(place, token, sequences), nil, {}
    for k = 1, #sequences do
      local sequence, code = sequences[k], nil
      if singles[sequence] then code = settle_single(place, singles[sequence], outcome)
      else
        why = why or why_stale_in(place, token)
        code = why(sequence)
      end
      codes[code] = codes[code] or {}
      codes[code][#codes[code] + 1] = sequence
    end
    for code, found in pairs(codes) do parts[#parts + 1] = code_text(code, runs_of(found)) end
  end
  return concat(parts, ' ')
end
`;

/** Renewal: the twin of `renew` in core's progress (F2, F3, F5). Answers have the codes above, and k(ept: renewed). */
export const RENEW_ONE: string = lua`
-- Renews deliveries under one token: the answer. Members whose leases had run out are noted in revived; expiries that stay, because
-- they are later, in kept.
local function renew(place, token, wanted, expires, revived, kept, index)
  local parts, rest = {}, wanted
  local rows = copy_of(rows_of(place, token))
  for k = 1, #rows do
    local row = rows[k]
    local mine, others = divide(row.runs, rest)
    if #mine > 0 then
      local _
      _, rest = divide(rest, mine)
      parts[#parts + 1] = code_text('k', mine)
      if row.expires > expires then
        kept[#kept + 1] = format('%d %s %d', index, text_of_runs(mine), row.expires)
      elseif row.expires < expires then
        if row.expires <= now then revived[row.consumer] = true end
        local renewed = {
          token = token, runs = mine, open = size_of_runs(mine), attempt = row.attempt, takeovers = row.takeovers, alone = row.alone,
          leased = row.leased, expires = expires, failed = row.failed, consumer = row.consumer,
        }
        keep_open(place, row, others)
        put_row(place, renewed)
      end
    end
  end
  if #rest == 0 then return concat(parts, ' ') end
  local sequences = sequences_of(rest)
  local singles, why, codes = singles_of(place, token, sequences), nil, {}
  for k = 1, #sequences do
    local sequence = sequences[k]
    local x, code = singles[sequence], 'k'
    if not x then
      why = why or why_stale_in(place, token)
      code = why(sequence)
    elseif x.due > expires then kept[#kept + 1] = format('%d %d-%d %d', index, sequence, sequence, x.due)
    elseif x.due < expires then
      if x.due <= now and x.consumer then revived[x.consumer] = true end
      x.due = expires
      put_exception(place, x)
    end
    codes[code] = codes[code] or {}
    codes[code][#codes[code] + 1] = sequence
  end
  for code, found in pairs(codes) do parts[#parts + 1] = code_text(code, runs_of(found)) end
  return concat(parts, ' ')
end
`;
