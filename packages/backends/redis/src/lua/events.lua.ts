/** Events of a partition, as XRANGE gives them: `{ id, { "event", header, "payload", payload } }`. Sequences have no gaps (L1). */
import { lua } from "./lua.ts";

/** Reading by position. Costs: the events read, and as many calls as there are runs of consecutive ones. */
export const EVENTS: string = lua`
-- Bytes of the event in UTF-8, as the caller of append counted them.
local function size_of(entry)
  local header = header_of(entry)
  return #(header.id or '') + #(header.type or '') + #(header.key or '') + #(header.metadata or '') + #(fields_of(entry)[4] or '')
end

-- How many events to read at once where they may be too large together.
local function page_of(log, max_bytes)
  return max(8, floor(max_bytes / max(1, log.largest)))
end

-- Events in (after, last], at most so many, cut before they exceed max_bytes but at least one.
local function slice(i, after, last, limit, max_bytes)
  local log = log_of(i)
  local from = max(after + 1, log.first)
  last = min(last, log.high, from + limit - 1)
  if last < from then return {} end
  local key = tags[i] .. ':log'
  if (last - from + 1) * log.largest <= max_bytes then return whole(call('XRANGE', key, from, last), from, last) end
  local found, bytes, step = {}, 0, page_of(log, max_bytes)
  for start = from, last, step do
    local stop = min(last, start + step - 1)
    local page = whole(call('XRANGE', key, start, stop), start, stop)
    for k = 1, #page do
      bytes = bytes + size_of(page[k])
      if bytes > max_bytes and #found > 0 then return found end
      found[#found + 1] = page[k]
    end
  end
  return found
end

-- Those of these rising sequences that are retained, each with its sequence; cut as above.
local function events_at(i, sequences, max_bytes)
  local log = log_of(i)
  local key, step = tags[i] .. ':log', min(1000, page_of(log, max_bytes))
  local found, bytes, k = {}, 0, 1
  while k <= #sequences do
    local first, last = sequences[k], sequences[k]
    while sequences[k + 1] == last + 1 and last - first + 1 < step do
      k, last = k + 1, last + 1
    end
    k = k + 1
    first, last = max(first, log.first), min(last, log.high)
    local page = first <= last and whole(call('XRANGE', key, first, last), first, last) or {}
    for place = 1, #page do
      local entry = page[place]
      bytes = bytes + size_of(entry)
      if bytes > max_bytes and #found > 0 then return found end
      entry.sequence = first + place - 1
      found[#found + 1] = entry
    end
  end
  return found
end

-- The same by sequence.
local function events_by_sequence(i, sequences)
  local events = {}
  local found = events_at(i, sequences, huge)
  for k = 1, #found do events[found[k].sequence] = found[k] end
  return events
end
`;

/** The first retained sequence with a timestamp at or after a time; the high watermark + 1 if there is none. */
export const SEQUENCE_AT: string = lua`
-- By halving, on the greatest timestamp so far, which rises although timestamps need not. It finds the event itself, except where only
-- events that were trimmed since were late enough; then it walks from there to the next one that is.
local function sequence_at(i, time)
  local log = log_of(i)
  local key = tags[i] .. ':log'
  local low, high = log.first, log.high + 1
  while low < high do
    local middle = low + floor((high - low) / 2)
    local entry = whole(call('XRANGE', key, middle, middle), middle, middle)[1]
    if (tonumber(fields_of(entry)[6]) or at_of(entry)) >= time then high = middle else low = middle + 1 end
  end
  while low <= log.high do
    local last = min(log.high, low + 99)
    local page = whole(call('XRANGE', key, low, last), low, last)
    for k = 1, #page do
      if at_of(page[k]) >= time then return low + k - 1 end
    end
    low = low + #page
  end
  return log.high + 1
end
`;

/** Events as answers have them. */
export const LINES: string = lua`
-- Header and payload. Of an entry that no append wrote: nothing that could be a header, and what there is, so that its delivery fails, and that of
-- no other.
local function texts_of(entry)
  local fields = fields_of(entry)
  if fields[1] == 'event' and fields[3] == 'payload' then return fields[2], fields[4] end
  return '', (string.gsub(concat(fields, ' '), '%z', '?'))
end

-- As one line: the sequence and -0, header and payload, apart by U+0000.
local function line_of(entry)
  local header, payload = texts_of(entry)
  return entry[1] .. '\0' .. header .. '\0' .. payload
end
`;
