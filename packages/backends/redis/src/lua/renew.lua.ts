/**
 * Renewal (the port's `renew`). ARGV: lease in ms ("": the group's), consumer, number of items; then for each its place (from 0), token and
 * runs. Answers `{ "stream" | "group" | "other", now }`, or `{ "ok", expires, answers, kept, revived }`: an answer per item; `item runs expiry`
 * of what keeps a later expiry; members whose leases had run out.
 */
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";

/** Cost: one record per batch or single lease. */
export const RENEW: string = lua`
local missing = missing_group()
if missing then return { missing, now } end
local expires = now + (tonumber(ARGV[${COMMON_ARGUMENTS + 1}]) or config.lease)
local answers, kept, revived, renewed = {}, {}, {}, false
for k = 1, tonumber(ARGV[${COMMON_ARGUMENTS + 3}]) do
  local at = ${COMMON_ARGUMENTS + 3} + (k - 1) * 3
  local i, token, runs = tonumber(ARGV[at + 1]) + 1, tonumber(ARGV[at + 2]), ARGV[at + 3]
  local place = i <= #KEYS and place_of(i)
  answers[k] = place and renew(place, token, runs_of_text(runs), expires, revived, kept, k - 1) or 'G' .. runs
  renewed = renewed or find(answers[k], 'k', 1, true) ~= nil
end
local names = {}
for consumer in pairs(revived) do
  names[#names + 1] = consumer
  for i = 1, #KEYS do clear_alone(place_of(i), consumer, 2) end
end
for i = 1, #KEYS do
  if places[i] then flush(places[i]) end
end
if renewed then touch_member(ARGV[${COMMON_ARGUMENTS + 2}]) end
return { 'ok', expires, answers, kept, names }
`;
