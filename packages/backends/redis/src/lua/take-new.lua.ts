/** Events above the cursor: past what the group's filter drops (G7) and what must wait behind its key (G9). The twin of `take-new`. */
import { LIMITS } from "@rheo/core/internal";
import { lua } from "./lua.ts";

/** Events looked at as one where not all of them are leased; those of them that are leased are one batch. */
const SCAN_PAGE = 500;
/** Events read first; then twice as many, and so on. */
const FIRST_READ = 64;

/** Events examined in one place by one script, unless more are asked for: what is examined in vain keeps the server from other work. */
export const SCAN_PER_PLACE = 1_000;
/** In all places. */
export const SCAN_PER_SCRIPT = 3_000;

export const TAKE_NEW: string = lua`
-- Leases events as one batch and moves the cursor.
local function lease_new(place, sequences, entries, cursor)
  if cursor ~= place.cursor then
    place.cursor = cursor
    place.changed = true
  end
  if #entries == 0 then return end
  put_row(place, {
    token = token_in(place), runs = runs_of(sequences), open = #entries, attempt = 1, takeovers = 0, alone = 0, consumer = pass.consumer,
    leased = now, expires = pass.expires,
  })
  for k = 1, #entries do grant(place, 1, sequences[k], entries[k]) end
end

-- Of the next events, at most so many, leases those that may be leased, until one can neither be leased nor parked nor passed over. They are
-- read a few at a time, as that one may come soon. Returns how many were read, and whether all were dealt with.
local function sift(place, count, high, order, matches)
  local sequences, entries, bytes, cursor, read = {}, {}, pass.bytes, place.cursor, 0
  local most, step, stopped = min(pass.left, order.new_limit), ${FIRST_READ}, false
  while read < count and not stopped do
    local page = slice(place.i, cursor, high, min(step, count - read), ${LIMITS.fetchBytes})
    if #page == 0 then break end
    read, step = read + #page, step * 2
    for k = 1, #page do
      local entry, sequence = page[k], cursor + 1
      if matches(entry) then
        local key = order.parks and field_of(entry, 'key') or nil
        if order.is_new_free(key) then
          stopped = #entries >= most or (size_of(entry) > bytes and #entries + pass.granted > 0)
          if stopped then break end
          entries[#entries + 1], sequences[#sequences + 1] = entry, sequence
          order.occupy(key)
          bytes = bytes - size_of(entry)
        elseif order.parks and order.can_park() then put_exception(place, parked_behind(sequence, key))
        else
          stopped = true
          break
        end
      end
      cursor = sequence
    end
  end
  lease_new(place, sequences, entries, cursor)
  order.close_runs()
  return read, not stopped
end

-- matches: the group's filter, or nil when it has none.
local function take_new(place, order, matches)
  local high = log_of(place.i).high
  if not order.accepts_new or place.exceptions >= ${LIMITS.exceptionsPerPartition} then return end
  if not matches and not order.parks then
    local page = slice(place.i, place.cursor, high, min(pass.left, order.new_limit), pass.bytes)
    local sequences, entries = {}, {}
    for k = 1, affordable(page) do sequences[k], entries[k] = place.cursor + k, page[k] end
    return lease_new(place, sequences, entries, place.cursor + #entries)
  end
  local scan = min(pass.scan, max(pass.limit, ${SCAN_PER_PLACE}))
  while is_open() and scan > 0 do
    local read, all = sift(place, min(scan, max(pass.left, ${SCAN_PAGE})), high, order, matches or always)
    scan, pass.scan = scan - read, pass.scan - read
    if not all or read == 0 then return end
  end
  if scan <= 0 then pass.more = true end
end
`;
