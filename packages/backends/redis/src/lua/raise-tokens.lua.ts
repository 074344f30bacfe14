import { lua } from "./lua.ts";

/** KEYS: head of a partition. ARGV: by how much. The token is the sixth word of a group's `progress`: see `records.lua.ts`. */
export const RAISE_TOKENS: string = lua`
local tag, by = string.sub(KEYS[1], 1, -6), tonumber(ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 0 then return end
redis.call('HINCRBY', KEYS[1], 'floor', by)
local groups = redis.call('ZRANGE', tag .. ':groups', 0, -1)
for k = 1, #groups do
  local key = tag .. ':g:' .. groups[k]
  local before, token, after = string.match(redis.call('HGET', key, 'progress') or '', '^(%S+ %S+ %S+ %S+ %S+ )(%d+)( .*)$')
  if token then redis.call('HSET', key, 'progress', before .. string.format('%d', tonumber(token) + by) .. after) end
end
`;

/** The same for streams that are no longer, or not yet, there. KEYS: the catalog's meta. */
export const RAISE_FLOOR_BY: string = lua`
redis.call('HINCRBY', KEYS[1], 'floor', ARGV[1])
`;
