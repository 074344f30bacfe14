/** Batches that ran out: the twin of `take-expired` in core's progress (T1, T4, T5). */
import { lua } from "./lua.ts";

export const TAKE_EXPIRED: string = lua`
-- Leases the first of these that fit anew; what remains stays as it was, expired.
local function move(place, row, wanted, attempt, alone, order)
  while #wanted > pass.left do wanted[#wanted] = nil end
  local entries = events_at(place.i, wanted, pass.bytes)
  local count = affordable(entries)
  if count == 0 then return end
  local sequences = {}
  for k = 1, count do sequences[k] = entries[k].sequence end
  local runs = runs_of(sequences)
  local _, rest = divide(row.runs, runs)
  local failed = row.failed or row.expires
  keep_open(place, row, rest)
  revoke(place, row.token, runs, 'R')
  put_row(place, {
    token = token_in(place), runs = runs, open = count, attempt = attempt, takeovers = row.takeovers + 1, alone = alone,
    consumer = pass.consumer, leased = now, expires = pass.expires, failed = failed,
  })
  order.take(sequences)
  pass.suspects = pass.suspects + count
  for k = 1, count do grant(place, attempt, sequences[k], entries[k]) end
end

-- The last attempt ran out, alone: a dead letter.
local function expire(place, row)
  local sequences = sequences_of(row.runs)
  local runs = row.runs
  keep_open(place, row, {})
  revoke(place, row.token, runs, 'R')
  for k = 1, #sequences do
    bury_in(place, {
      sequence = sequences[k], attempts = row.attempt, reason = expiry_reason(row.consumer, row.attempt), consumer = row.consumer,
      first = row.failed or row.expires,
    })
  end
end

-- The first takeover takes the whole rest; each later one half of it, so that a crasher is found in log2(n) crashes. Attempts stop one
-- short of the last for what is taken from among others, so that innocents are not charged for what they were beside.
local function take_over(place, row, eligible, order)
  local attempts = config.attempts
  local last, single = row.attempt + 1 >= attempts, row.open == 1
  if single and row.alone > 0 and row.attempt >= attempts then return expire(place, row) end
  if single and last then
    local attempt = attempt_of(row)
    local alone = chance_of(row.expires)
    if not alone then return end
    move(place, row, eligible, attempt, alone, order)
    if alone == 2 then pass.closed = pass.granted > 0 end
    return
  end
  local searching = row.takeovers > 0 or last
  if searching and is_searching() then return end
  local wanted = searching and ceil(row.open / 2) or row.open
  while #eligible > wanted do eligible[#eligible] = nil end
  move(place, row, eligible, last and max(row.attempt, attempts - 1) or row.attempt + 1, 0, order)
end

local function take_expired(place, order)
  local rows = expired_rows(place)
  for k = 1, #rows do
    if not is_open() then return end
    local eligible, sequences = {}, sequences_of(rows[k].runs)
    for n = 1, #sequences do
      if order.is_free(sequences[n]) then eligible[#eligible + 1] = sequences[n] end
    end
    if #eligible > 0 then take_over(place, rows[k], eligible, order) end
  end
end
`;
