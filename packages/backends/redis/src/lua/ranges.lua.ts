/** Sets of sequences as rising runs: `{ first, last, first, last, … }`, and as text `first-last,first-last`. */
import { lua } from "./lua.ts";

export const RANGES: string = lua`
local function runs_of_text(text)
  local runs, n = {}, 0
  for first, last in gmatch(text, '(%d+)-(%d+)') do
    runs[n + 1], runs[n + 2] = tonumber(first), tonumber(last)
    n = n + 2
  end
  return runs
end

local function text_of_runs(runs)
  local parts = {}
  for k = 1, #runs, 2 do parts[#parts + 1] = format('%d-%d', runs[k], runs[k + 1]) end
  return concat(parts, ',')
end

-- Of rising sequences.
local function runs_of(sequences)
  local runs, n = {}, 0
  for k = 1, #sequences do
    local sequence = sequences[k]
    if n > 0 and runs[n] == sequence - 1 then runs[n] = sequence
    else
      runs[n + 1], runs[n + 2] = sequence, sequence
      n = n + 2
    end
  end
  return runs
end

local function text_of_sequences(sequences)
  return text_of_runs(runs_of(sequences))
end

local function size_of_runs(runs)
  local size = 0
  for k = 1, #runs, 2 do size = size + runs[k + 1] - runs[k] + 1 end
  return size
end

-- The sequences themselves, at most so many.
local function sequences_of(runs, limit)
  local sequences, n = {}, 0
  for k = 1, #runs, 2 do
    for sequence = runs[k], runs[k + 1] do
      if n == limit then return sequences end
      n = n + 1
      sequences[n] = sequence
    end
  end
  return sequences
end

local function holds(runs, sequence)
  for k = 1, #runs, 2 do
    if sequence < runs[k] then return false end
    if sequence <= runs[k + 1] then return true end
  end
  return false
end

-- What is in both, and what is in the first alone.
local function divide(runs, others)
  local both, rest, k = {}, {}, 1
  for place = 1, #runs, 2 do
    local first, last = runs[place], runs[place + 1]
    while others[k] and others[k + 1] < first do k = k + 2 end
    local at = k
    while others[at] and others[at] <= last do
      if others[at] > first then
        rest[#rest + 1] = first
        rest[#rest + 1] = others[at] - 1
      end
      both[#both + 1] = max(first, others[at])
      both[#both + 1] = min(last, others[at + 1])
      first = others[at + 1] + 1
      at = at + 2
    end
    if first <= last then
      rest[#rest + 1] = first
      rest[#rest + 1] = last
    end
  end
  return both, rest
end
`;
