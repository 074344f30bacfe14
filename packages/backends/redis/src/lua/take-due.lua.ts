/** Exceptions that time allows: released ones, retries that are due, single leases that ran out. The twin of `take-due` (T1, T3–T5). */
import { lua } from "./lua.ts";

export const TAKE_DUE: string = lua`
local function lease_single(place, x, entry, attempt, alone, order)
  if pass.granted > 0 and size_of(entry) > pass.bytes then return end
  local expired = x.state == 'l'
  if expired then revoke(place, x.token, { x.sequence, x.sequence }, 'R') end
  if expired then
    x.takeovers = x.takeovers + 1
    x.first = x.first or x.due
  end
  set_alone(place, x, alone)
  x.state, x.attempt, x.token, x.consumer, x.leased, x.due = 'l', attempt, token_in(place), pass.consumer, now, pass.expires
  put_exception(place, x)
  order.advance(x.sequence)
  if x.takeovers > 0 then pass.suspects = pass.suspects + 1 end
  grant(place, attempt, x.sequence, entry)
end

-- No attempts are left: a dead letter.
local function end_single(place, x)
  local expired = x.state == 'l'
  if expired then revoke(place, x.token, { x.sequence, x.sequence }, 'R') end
  delete_exception(place, x)
  local own = not expired and x.reason
  bury_in(place, {
    sequence = x.sequence, attempts = x.attempt, reason = own or expiry_reason(x.consumer or '', x.attempt), stack = own and x.stack or nil,
    consumer = x.consumer, first = x.first or x.due or now,
  })
end

local function take_single(place, x, entry, order)
  local attempts = config.attempts
  local spent, expired = x.attempt >= attempts, x.state == 'l'
  if spent and (not expired or x.alone > 0) then return end_single(place, x) end
  if (expired or x.takeovers > 0) and x.attempt + 1 >= attempts then
    local attempt = attempt_of(x)
    local alone = chance_of(x.due or 0)
    if not alone then return end
    lease_single(place, x, entry, attempt, alone, order)
    if alone == 2 then pass.closed = pass.granted > 0 end
    return
  end
  if x.takeovers > 0 and is_searching() then return end
  lease_single(place, x, entry, x.attempt + 1, 0, order)
end

-- Events of this many are read together.
local DUE_CHUNK = 100

local function take_due(place, order)
  local found = order.claimable or due_exceptions(place, pass.left)
  for from = 1, #found, DUE_CHUNK do
    if not is_open() then return end
    local chunk, sequences, entries = {}, {}, {}
    for k = from, min(#found, from + DUE_CHUNK - 1) do
      if order.is_in_run(found[k].sequence) then
        chunk[#chunk + 1] = found[k]
        sequences[#sequences + 1] = found[k].sequence
      end
    end
    sort(sequences)
    local read = events_at(place.i, sequences, pass.bytes)
    for k = 1, #read do entries[read[k].sequence] = read[k] end
    for k = 1, #chunk do
      if not is_open() then return end
      local x = chunk[k]
      -- they were read in the order of sequences, and may have been cut before this one
      local entry = entries[x.sequence] or events_at(place.i, { x.sequence }, huge)[1]
      if entry and order.is_free(x.sequence) then take_single(place, x, entry, order) end
    end
  end
end
`;
