/** Ordering: the twin of `order` in core's progress (G9). */
import { lua } from "./lua.ts";

/** What ordering allows in one place during one fetch. Cost where order is kept: what is unsettled there. */
export const ORDER: string = lua`
local PARKED_KEPT = 1000

local function always()
  return true
end

local function nothing()
end

local OPEN_ORDER = {
  is_free = always, is_new_free = always, occupy = nothing, take = nothing, accepts_new = true, new_limit = huge, parks = false,
}

-- The lanes of a key are keys; where the whole partition is ordered, it has one lane.
local function key_order(place, has_exceptions)
  local whole = config.ordering == 'partition'
  local first_of, busy, lane_of, parked, claimable, count = {}, {}, {}, 0, {}, 0
  local function note(sequence, lane, live)
    count = count + 1
    if not lane then return end
    lane_of[sequence] = lane
    if not first_of[lane] or sequence < first_of[lane] then first_of[lane] = sequence end
    if live then busy[lane] = true end
  end
  local rows = all_rows(place)
  for k = 1, #rows do
    local row = rows[k]
    local sequences, live = sequences_of(row.runs), row.expires > now
    if whole then
      for n = 1, #sequences do note(sequences[n], '', live) end
    else
      local entries = events_at(place.i, sequences, huge)
      for n = 1, #entries do note(entries[n].sequence, field_of(entries[n], 'key'), live) end
    end
  end
  local exceptions = has_exceptions and all_exceptions(place) or {}
  for k = 1, #exceptions do
    local x = exceptions[k]
    note(x.sequence, whole and '' or x.key, x.state == 'l' and x.due > now)
    if x.state == 'k' then parked = parked + 1 end
    if not x.due or x.due <= now then claimable[#claimable + 1] = x end
  end
  return {
    claimable = claimable,
    accepts_new = not whole or count == 0,
    new_limit = whole and 1 or huge,
    parks = not whole,
    is_free = function(sequence)
      local lane = lane_of[sequence]
      return not lane or (first_of[lane] == sequence and not busy[lane])
    end,
    is_new_free = function(key)
      if whole then return not first_of[''] end
      return not key or not first_of[key]
    end,
    occupy = function(sequence, key)
      local lane = whole and '' or key
      if lane then first_of[lane] = sequence end
    end,
    take = function(sequences)
      for k = 1, #sequences do
        local lane = lane_of[sequences[k]]
        if lane then busy[lane] = true end
      end
    end,
    can_park = function()
      parked = parked + 1
      return parked <= PARKED_KEPT
    end,
  }
end
`;
