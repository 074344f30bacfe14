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
  is_free = always, is_in_run = always, is_new_free = always, occupy = nothing, close_runs = nothing, take = nothing, advance = nothing,
  accepts_new = true, new_limit = huge, parks = false,
}

-- The lanes of a key are keys; where the whole partition is ordered, it has one lane. Of a lane: how many are unsettled, how many of these a
-- run may have, how many of them were leased, and whether one of it is leased already.
local function key_order(place, has_exceptions)
  local whole, limit = config.ordering == 'partition', pass.run
  local unsettled, lanes, spots, fresh, parked, claimable = {}, {}, {}, {}, 0, {}
  local function note(sequence, lane, live, ready)
    unsettled[#unsettled + 1] = { sequence = sequence, lane = lane or nil, live = live, ready = ready }
  end
  local rows = all_rows(place)
  for k = 1, #rows do
    local row = rows[k]
    local sequences, live = sequences_of(row.runs), row.expires > now
    if whole then
      for n = 1, #sequences do note(sequences[n], '', live, false) end
    else
      local entries = events_at(place.i, sequences, huge)
      for n = 1, #entries do note(entries[n].sequence, field_of(entries[n], 'key'), live, false) end
    end
  end
  local exceptions = has_exceptions and all_exceptions(place) or {}
  for k = 1, #exceptions do
    local x = exceptions[k]
    local ready = not x.due or x.due <= now
    note(x.sequence, whole and '' or x.key, x.state == 'l' and x.due > now, ready)
    if x.state == 'k' then parked = parked + 1 end
    if ready then claimable[#claimable + 1] = x end
  end
  sort(unsettled, function(a, b) return a.sequence < b.sequence end)
  for k = 1, #unsettled do
    local one = unsettled[k]
    if one.lane then
      local lane = lanes[one.lane] or { count = 0, reachable = 0, next = 0, busy = false }
      lanes[one.lane] = lane
      spots[one.sequence] = { lane = lane, position = lane.count }
      if one.ready and lane.reachable == lane.count and lane.count < limit then lane.reachable = lane.reachable + 1 end
      lane.count = lane.count + 1
      lane.busy = lane.busy or one.live
    end
  end
  local function is_in_run(sequence)
    local spot = spots[sequence]
    return not spot or (not spot.lane.busy and (spot.position == 0 or spot.position < spot.lane.reachable))
  end
  return {
    claimable = claimable,
    accepts_new = not whole or #unsettled == 0,
    new_limit = whole and limit or huge,
    parks = not whole,
    is_in_run = is_in_run,
    is_free = function(sequence)
      local spot = spots[sequence]
      return not spot or (is_in_run(sequence) and spot.position == spot.lane.next)
    end,
    is_new_free = function(key)
      local lane = whole and '' or key
      return not lane or (not lanes[lane] and (fresh[lane] or 0) < limit)
    end,
    occupy = function(key)
      local lane = whole and '' or key
      if lane then fresh[lane] = (fresh[lane] or 0) + 1 end
    end,
    close_runs = function()
      for lane in pairs(fresh) do lanes[lane] = { count = 0, reachable = 0, next = 0, busy = true } end
      fresh = {}
    end,
    take = function(sequences)
      for k = 1, #sequences do
        local spot = spots[sequences[k]]
        if spot then spot.lane.busy = true end
      end
    end,
    advance = function(sequence)
      local spot = spots[sequence]
      if spot then spot.lane.next = spot.lane.next + 1 end
    end,
    can_park = function()
      parked = parked + 1
      return parked <= PARKED_KEPT
    end,
  }
end
`;
